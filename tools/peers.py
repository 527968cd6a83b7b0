#!/usr/bin/env python3
"""Measures Takt beside its peers: `peers.py --takt PROGRAM [OPTIONS] [MODEL…]`; `./x bench peers` calls it.

Every repetition runs the programs one after the other on the same file with the same threads, so that a machine that is slower
for a while is slower for all of them. What counts are the ratios within a repetition; the table has their median and range.
llama.cpp is fetched from its source package and built below the cache folder, once (about 15 minutes on two cores).
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

import models
from peer_programs import GROUPS, LlamaCpp, OpenVino, PeerError, Takt, build_llama_cpp, model_file

MODELS = ["smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]
# name in the results: (title, unit, whether less is better)
TESTS = {
    "prefill 512": ("prefill 512", "tokens/s", False),
    "prefill 4096": ("prefill 4096", "tokens/s", False),
    "decode": ("decode at depth 0", "tokens/s", False),
    "decode at 4096": ("decode at depth 4096", "tokens/s", False),
    **{f"rows {rows}": (f"decode, {rows} row{'s' if rows > 1 else ''}", "tokens/s", False) for rows in (1, 2, 4, 8, 16, 32)},
    "load": ("load to first token", "s", True),
    "memory": ("peak memory", "MB", True),
}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./x bench peers", description=__doc__.split("\n\n")[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--takt", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=MODELS,
                        help="a name of ./x model list or a GGUF file; default: " + ", ".join(MODELS))
    parser.add_argument("-r", "--repetitions", type=int, default=3, help="3 unless given")
    parser.add_argument("-t", "--threads", type=int, default=0, help="of all programs; as many as cores unless given")
    parser.add_argument("--tests", default=",".join(GROUPS), help="of " + ",".join(GROUPS) + "; all unless given")
    parser.add_argument("--quick", action="store_true", help="one repetition, nothing at 4096 tokens, 32 tokens of decode")
    parser.add_argument("--avx2", action="store_true", help="hold Takt and llama.cpp to AVX2 on a processor that has more")
    parser.add_argument("--llama", type=Path, metavar="FOLDER", help="the bin folder of a llama.cpp build, instead of building one")
    parser.add_argument("--ik", type=Path, metavar="FOLDER", help="the bin folder of an ik_llama.cpp build: measured as well")
    parser.add_argument("--openvino", action="store_true", help="OpenVINO GenAI too, from its packages")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the samples in this file and add to what is there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables there")
    options = parser.parse_args(arguments)
    if options.repetitions < 1:
        parser.error("--repetitions: expected at least 1")
    if options.threads < 0:
        parser.error("--threads: expected a positive number")
    options.decode_tokens = 32 if options.quick else 128
    options.tests = options.tests.split(",")
    for test in options.tests:
        if test not in GROUPS:
            parser.error(f"--tests: {test} is none of {', '.join(GROUPS)}")
    if options.quick:
        options.repetitions = 1
        options.tests = [test for test in options.tests if "4096" not in test]
    return options


def programs_of(options, threads):
    """The programs to run alternately, Takt first; a peer that cannot be had is left out with a line that says why."""
    decode_tokens = options.decode_tokens
    folder = options.llama or build_llama_cpp(options.avx2)
    programs = [Takt(options.takt, threads, decode_tokens, "avx2" if options.avx2 else ""),
                LlamaCpp("llama.cpp", folder, threads, decode_tokens)]
    if options.ik:
        programs.append(LlamaCpp("ik_llama.cpp", options.ik, threads, decode_tokens))
    if options.openvino:
        try:
            programs.append(OpenVino(threads, decode_tokens))
        except PeerError as error:
            print(f"OpenVINO GenAI is left out: {error}", file=sys.stderr)
    return programs


class Results:
    """Samples by model, test and program, one a repetition; kept in a file after each when one is given."""

    def __init__(self, path):
        self.path = path
        self.samples = {}
        if path and path.exists():
            try:
                self.samples = json.loads(path.read_text())["samples"]
            except (ValueError, KeyError, TypeError) as error:
                raise PeerError(f"--results {path}: not a file of this command ({error})") from error

    def add(self, model, program, figures):
        for test, value in figures.items():
            self.samples.setdefault(model, {}).setdefault(test, {}).setdefault(program, []).append(value)
        if self.path:
            self.path.write_text(json.dumps({"samples": self.samples}, indent=1) + "\n")


def measure(options, programs, results, name, path):
    for repetition in range(options.repetitions):
        for test in options.tests:
            for program in programs:
                print(f"{name}: {test}, repetition {repetition + 1} of {options.repetitions}: {program.name}",
                      file=sys.stderr)
                try:
                    results.add(name, program.name, program.measure(test, path))
                except PeerError as error:
                    print(f"  left out: {error}", file=sys.stderr)


def ratio_text(takt, peer):
    """Median and range of the ratios of samples that were taken one after the other."""
    ratios = [mine / theirs for mine, theirs in zip(takt, peer) if theirs > 0]
    if not ratios:
        return "–"
    middle = f"{statistics.median(ratios):.2f} ×"
    return middle if len(ratios) == 1 else f"{middle} ({min(ratios):.2f} to {max(ratios):.2f})"


def number_text(values, unit):
    middle = statistics.median(values)
    return f"{middle:.2f}" if unit == "s" else f"{middle:.0f}" if middle >= 100 else f"{middle:.1f}"


def table(samples):
    """One model's table. Ratios are Takt over the peer."""
    peers = []
    for by_program in samples.values():
        peers += [name for name in by_program if name != "takt" and name not in peers]
    lines = ["| test | unit | Takt | " + " | ".join(f"{peer} | Takt ÷ {peer}" for peer in peers) + " |",
             "| --- | --- | ---: |" + " ---: | ---: |" * len(peers)]
    for test, (title, unit, is_less_better) in TESTS.items():
        by_program = samples.get(test, {})
        if not by_program:
            continue
        mine = by_program.get("takt", [])
        cells = [title + (" (less is better)" if is_less_better else ""), unit,
                 number_text(mine, unit) if mine else "–"]
        for peer in peers:
            theirs = by_program.get(peer, [])
            cells += [number_text(theirs, unit) if theirs else "–", ratio_text(mine, theirs)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def machine_text(machine):
    caches = ", ".join(f"L{cache['level']} {cache['bytes'] >> 10} KiB" for cache in machine["caches"])
    return (f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads; {', '.join(machine['isa'])}; "
            f"{caches}; memory {machine['memory_bytes'] / 1e9:.0f} GB")


def report(machine, results, threads, decode_tokens):
    text = f"{machine_text(machine)}. All programs with {threads} threads; decode is of {decode_tokens} tokens.\n"
    for model, samples in results.samples.items():
        text += f"\n### {model}\n\n{table(samples)}"
    return text


def main(arguments):
    options = parse(arguments)
    files = {Path(name).stem if Path(name).is_file() else name: model_file(name) for name in options.models}
    machine = Takt(options.takt, 0, 0, "").machine()
    threads = options.threads or machine["cores"]
    programs = programs_of(options, threads)
    results = Results(options.results)
    for name, path in files.items():
        measure(options, programs, results, name, path)
    text = report(machine, results, threads, options.decode_tokens)
    print(text, end="")
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (PeerError, models.ModelError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; samples of --results are kept")
