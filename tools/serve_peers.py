#!/usr/bin/env python3
"""Takt's server beside llama-server: `serve_peers.py --takt PROGRAM [OPTIONS] [MODEL]`; `./x bench serve-peers` calls it.

For each scenario both servers are started one after the other on the same file with the same threads, and
`takt bench serve` plays the same load against them. What counts are ratios within a scenario; speeds are those of the moment.
Limits that are multiples of g (the gap of chats that decode undisturbed) use the g that Takt's run without a limit has just shown.
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import models
from peer_programs import PeerError, build_llama_cpp, model_file, read_through

DEFAULT_MODEL = "qwen2.5-coder-0.5b"
CONTEXT_TOKENS = 8192  # of each request, in both
LLAMA_SLOTS = 8        # requests at once; more would each get less of its context and of its time
SECONDS_TO_START = 120
GOODPUT_SLO = "interactive:ttft=3s,itl=150ms"  # Takt is told the limits by which it is judged
LLAMA = "llama-server"
# scenario: names of Takt's settings, and of each the multiple of g that is its limit (None: no limit)
SCENARIOS = {"interference": {"Takt": None, "Takt, limit 4 g": 4, "Takt, limit 2.5 g": 2.5},
             "burst": {"Takt": None},
             "second-turn": {"Takt": None},
             "background": {"Takt, limit 4 g": 4},
             "goodput": {"Takt": None}}
# scenario: the rows of its table: (key in the results, title, unit)
ROWS = {
    "interference": [("gap_before_ms_p50", "gap before it, P50 (g)", "ms"), ("gap_during_ms_p99", "gap during it, P99", "ms"),
                     ("gap_during_ms_max", "longest gap", "ms"), ("gap_during_p99_in_g", "P99 in g", "g"),
                     ("gap_during_max_in_g", "longest in g", "g"), ("long_alone_s", "prompt alone", "s"),
                     ("long_beside_s", "prompt beside the chats", "s"), ("long_ratio", "beside ÷ alone", "×"),
                     ("limit_ms", "limit", "ms")],
    "burst": [("short_alone_ttft_ms_p99", "TTFT P99 of the short ones alone", "ms"),
              ("short_behind_ttft_ms_p99", "TTFT P99 behind the long one", "ms"), ("short_p99_ratio", "behind ÷ alone", "×"),
              ("long_alone_s", "long one alone", "s"), ("long_before_s", "long one before them", "s"),
              ("long_ratio", "before ÷ alone", "×")],
    "second-turn": [("first_ttft_ms", "TTFT of the first turn", "ms"), ("second_ttft_ms", "TTFT of the second", "ms"),
                    ("ratio", "second ÷ first", "×"), ("second_cached_tokens", "tokens from the cache", "tokens")],
    "background": [("gap_before_ms_p50", "chats' gap before, P50 (g)", "ms"), ("gap_during_ms_p99", "during, P99", "ms"),
                   ("gap_during_ms_max", "longest", "ms"), ("background_tokens_per_s", "background", "tokens/s"),
                   ("chat_tokens_per_s_during", "chats", "tokens/s"), ("limit_ms", "limit", "ms")],
    "goodput": [("within_share", "within limits", "share"), ("goodput_rps", "goodput", "requests/s"),
                ("output_tokens_per_s", "output", "tokens/s"), ("ttft_ms.p50", "TTFT P50", "ms"), ("ttft_ms.p99", "TTFT P99", "ms"),
                ("itl_ms.p50", "ITL P50", "ms"), ("itl_ms.p99", "ITL P99", "ms"), ("gap_longest_ms.max", "longest gap", "ms")],
}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./x bench serve-peers", description=__doc__.split("\n\n")[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--takt", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("model", nargs="?", default=DEFAULT_MODEL, help=f"a name of ./x model list or a GGUF file; {DEFAULT_MODEL}")
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count(), help="of both; as many as cores unless given")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="of " + ",".join(SCENARIOS) + "; all unless given")
    parser.add_argument("--programs", default="takt,llama", help="of takt,llama; both unless given")
    parser.add_argument("--rates", default="0.25,0.5", help="of goodput, requests/s")
    parser.add_argument("--requests", type=int, default=100, help="of goodput, at each rate; 100")
    parser.add_argument("--seed", type=int, default=1, help="of goodput")
    parser.add_argument("--long", type=int, default=0, help="tokens of the long prompts; the scenario's own unless given")
    parser.add_argument("--count", type=int, default=0, help="short or background requests; the scenario's own unless given")
    parser.add_argument("--quick", action="store_true", help="a third of everything")
    parser.add_argument("--llama", type=Path, metavar="FOLDER", help="the bin folder of a llama.cpp build, instead of building one")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the figures there; what is there is not measured again")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables there")
    options = parser.parse_args(arguments)
    options.scenarios = options.scenarios.split(",")
    for name in options.scenarios:
        if name not in SCENARIOS:
            parser.error(f"--scenarios: {name} is none of {', '.join(SCENARIOS)}")
    options.programs = options.programs.split(",")
    if options.quick:
        options.requests = min(options.requests, 30)
    return options


def bench_arguments(options, scenario):
    """What `takt bench serve` is to do, after the server's address."""
    if scenario.startswith("goodput"):
        return ["--scenario", "goodput", "--rate", scenario.split()[1], "--requests", str(options.requests), "--seed", str(options.seed)]
    sizes = {"interference": (1000, 0), "burst": (2000, 12), "second-turn": (1000, 0), "background": (0, 20)}[scenario]
    long_tokens = options.long or (sizes[0] if options.quick else 0)
    count = options.count or (sizes[1] if options.quick else 0)
    return ["--scenario", scenario, "--long", str(long_tokens), "--count", str(count)]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A server in a process of its own, ready when the `with` begins and gone when it ends."""

    def __init__(self, command):
        self.port = free_port()
        self.command = [str(word) for word in command] + ["--port", str(self.port)]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + SECONDS_TO_START
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = self.text()
                self.__exit__()
                raise PeerError(f"{Path(self.command[0]).name} did not become ready:\n{text}")
            time.sleep(0.1)
        return self

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=5) as reply:
                return reply.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def text(self):
        self.log.seek(0)
        return "\n".join(self.log.read().splitlines()[-5:])

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def takt_command(options, path, slo):
    return [options.takt, "serve", path, "--ctx", CONTEXT_TOKENS, "--threads", options.threads, *(["--slo", slo] if slo else [])]


def llama_command(folder, options, path):
    return [folder / LLAMA, "-m", path, "-t", options.threads, "-c", CONTEXT_TOKENS * LLAMA_SLOTS, "-np", LLAMA_SLOTS]


def play(takt, command, arguments):
    """The figures of one scenario against a server that is started for it."""
    with Server(command) as server:
        done = subprocess.run([str(takt), "bench", "serve", server.url, "--json", *arguments], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise PeerError(f"takt bench serve failed; the server's last lines:\n{server.text()}")
    figures = json.loads(done.stdout)
    return figures["points"][0] if "points" in figures else figures


class Results:
    """Figures by scenario and column, kept in a file after each when one is given."""

    def __init__(self, path):
        self.path, self.figures = path, {}
        if path and path.exists():
            try:
                self.figures = json.loads(path.read_text())
            except ValueError as error:
                raise PeerError(f"--results {path}: not a file of this command ({error})") from error

    def get(self, scenario, column):
        return self.figures.get(scenario, {}).get(column)

    def add(self, scenario, column, figures):
        self.figures.setdefault(scenario, {})[column] = figures
        if self.path:
            self.path.write_text(json.dumps(self.figures, indent=1) + "\n")


def undisturbed_gap_ms(results):
    for scenario, column in (("interference", "Takt"), ("background", "Takt, limit 4 g")):
        if figures := results.get(scenario, column):
            return figures["gap_before_ms_p50"]
    return None


def measure_takt(options, path, results, scenario, column, multiple):
    limit_ms = None
    if multiple:
        gap_ms = undisturbed_gap_ms(results)
        if gap_ms is None:
            raise PeerError(f"{scenario} with a limit of {multiple} g needs g: measure interference as well")
        limit_ms = multiple * gap_ms
    slo = f"interactive:itl={limit_ms:.1f}ms" if limit_ms else GOODPUT_SLO if scenario.startswith("goodput") else ""
    figures = play(options.takt, takt_command(options, path, slo), bench_arguments(options, scenario))
    results.add(scenario, column, {**figures, **({"limit_ms": limit_ms} if limit_ms else {})})


def measure(options, path, folder, results):
    for name in options.scenarios:
        scenarios = [f"goodput {rate}" for rate in options.rates.split(",")] if name == "goodput" else [name]
        for scenario in scenarios:
            columns = [*SCENARIOS[name].items()] if "takt" in options.programs else []
            for column, multiple in columns + ([(LLAMA, None)] if folder else []):
                if results.get(scenario, column):
                    continue
                print(f"{scenario}: {column}", file=sys.stderr)
                try:
                    if column == LLAMA:
                        results.add(scenario, column, play(options.takt, llama_command(folder, options, path),
                                                           bench_arguments(options, scenario)))
                    else:
                        measure_takt(options, path, results, scenario, column, multiple)
                except PeerError as error:
                    print(f"  left out: {error}", file=sys.stderr)


def value_of(figures, key):
    for part in key.split("."):
        figures = figures.get(part) if isinstance(figures, dict) else None
    return figures


def number_text(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def table(scenario, by_column):
    """The ratio is of Takt's last column: the one with the strictest limit."""
    columns = [name for name in (*SCENARIOS[scenario.split()[0]], LLAMA) if name in by_column]
    has_ratio = LLAMA in columns and len(columns) > 1
    head = ["figure", "unit", *columns] + ([f"{columns[-2]} ÷ {LLAMA}"] if has_ratio else [])
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " ---: |" * (len(head) - 2)]
    for key, title, unit in ROWS[scenario.split()[0]]:
        values = [value_of(by_column[column], key) for column in columns]
        if not any(value is not None for value in values):
            continue
        ratio = [f"{values[-2] / values[-1]:.3g} ×" if values[-2] is not None and values[-1] else "–"] if has_ratio else []
        lines.append("| " + " | ".join([title, unit, *map(number_text, values), *ratio]) + " |")
    return "\n".join(lines) + "\n"


def report(options, results):
    text = f"{options.model}, both servers with {options.threads} threads; {LLAMA} with {LLAMA_SLOTS} slots.\n"
    for scenario, by_column in results.figures.items():
        text += f"\n### {scenario}{' requests/s' if scenario.startswith('goodput') else ''}\n\n"
        one = next(iter(by_column.values()))
        sizes = [f"{int(one[key])} {what}" for key, what in
                 (("long_prompt_tokens", "tokens in the long prompt"), ("first_prompt_tokens", "tokens in the first turn"),
                  ("short_requests", "short requests"), ("background_requests", "background requests"), ("requests", "requests"))
                 if one.get(key)]
        text += f"{', '.join(sizes)}\n\n{table(scenario, by_column)}"
    return text


def main(arguments):
    options = parse(arguments)
    path = model_file(options.model)
    folder = (options.llama or build_llama_cpp(False)) if "llama" in options.programs else None
    if folder and not (folder / LLAMA).is_file():
        raise PeerError(f"{folder} has no {LLAMA}; give the folder that has")
    read_through(path)
    results = Results(options.results)
    measure(options, path, folder, results)
    text = report(options, results)
    print(text, end="")
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (PeerError, models.ModelError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; figures of --results are kept")
