#!/usr/bin/env python3
"""Does the simulator predict what a server really does?  `sim_real.py [MODEL] [--runs FOLDER] [--only SCENARIO:SEED…]`

Runs load scenarios against `takt serve --record`, fits the step costs to the runs of one seed, simulates the runs of
the other seeds with them, and prints P50 and P99 of TTFT and ITL and the throughput, recorded beside simulated. No run
is predicted that was fitted. Recordings that are in the folder are not made again; with --only, only these runs are
made and nothing is reported. Needs nothing but Python.
"""
import argparse
import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAKT = ROOT / "build/release/takt"
FIT_SEED = 1
TEST_SEEDS = (2, 3)
SECONDS = 25  # so long requests are sent; --seconds


class Client:
    """Sends completions to one server and notes when each token came."""

    def __init__(self, port):
        self.port = port
        self.begin = time.perf_counter()
        self.replies = []

    async def sleep_until(self, seconds):
        await asyncio.sleep(max(0.0, self.begin + seconds - time.perf_counter()))

    def seconds(self):
        return time.perf_counter() - self.begin

    async def ask(self, prompt, output_tokens):
        """One streamed answer to a prompt of token ids."""
        body = json.dumps({"prompt": prompt, "max_tokens": output_tokens, "stream": True, "temperature": 0,
                           "ignore_eos": True}).encode()
        times = [time.perf_counter()]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: takt\r\nConnection: close\r\n"
                     b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        status = await reader.readline()
        if b" 200 " not in status:
            sys.exit(f"the server answered {status.decode().strip()}: {(await reader.read()).decode()[-300:]}")
        async for line in reader:
            if line.startswith(b"data: {"):
                times.append(time.perf_counter())
        writer.close()
        self.replies.append(times)


def tokens(chance, count):
    """Any ids do: the arithmetic takes the same time. Two prompts share no beginning."""
    return [chance.randrange(1000, 100_000) for _ in range(max(1, int(count)))]


async def chats(client, chance):
    """Four people who ask again when they have read the answer."""
    async def person(own):
        await client.sleep_until(own.uniform(0, 2))
        while client.seconds() < SECONDS:
            await client.ask(tokens(own, own.uniform(30, 200)), own.randrange(30, 100))
            await asyncio.sleep(own.expovariate(1 / 0.5))
    await asyncio.gather(*(person(random.Random(chance.random())) for _ in range(4)))


async def long_prompt(client, chance):
    """Four chats decode; long prompts come in one after another."""
    async def chat(own):
        while client.seconds() < SECONDS:
            await client.ask(tokens(own, own.uniform(30, 60)), own.randrange(100, 160))

    async def reader(own):
        await client.sleep_until(4)
        while client.seconds() < SECONDS:
            await client.ask(tokens(own, own.uniform(800, 1800)), 4)
            await asyncio.sleep(own.uniform(1, 3))
    own = [random.Random(chance.random()) for _ in range(5)]
    await asyncio.gather(reader(own[4]), *(chat(one) for one in own[:4]))


async def burst(client, chance):
    """Sixteen short prompts at once, again and again, beside two chats."""
    async def chat(own):
        while client.seconds() < SECONDS:
            await client.ask(tokens(own, 40), own.randrange(60, 120))

    async def bursts(own):
        for at in range(2, SECONDS, 9):
            await client.sleep_until(at)
            await asyncio.gather(*(client.ask(tokens(own, own.uniform(60, 140)), 8) for _ in range(16)))
    own = [random.Random(chance.random()) for _ in range(3)]
    await asyncio.gather(bursts(own[2]), chat(own[0]), chat(own[1]))


async def poisson(client, chance):
    """Independent requests of all lengths."""
    at, tasks = 0.0, []
    while (at := at + chance.expovariate(1.0)) < SECONDS:
        async def one(start=at, prompt=tokens(chance, min(1500, chance.lognormvariate(5.0, 0.9))),
                      output=int(min(120, 4 + chance.lognormvariate(3.3, 0.7)))):
            await client.sleep_until(start)
            await client.ask(prompt, output)
        tasks.append(asyncio.create_task(one()))
    await asyncio.gather(*tasks)


async def multi_turn(client, chance):
    """Three conversations behind one long system prompt; each turn repeats all that was said before."""
    system = tokens(chance, 400)

    async def conversation(own):
        await client.sleep_until(own.uniform(0, 3))
        while client.seconds() < SECONDS:
            said = system + tokens(own, own.uniform(40, 120))
            for _ in range(own.randrange(2, 6)):
                output = own.randrange(15, 50)
                await client.ask(said, output)
                said = said + tokens(own, output) + tokens(own, own.uniform(30, 120))
                await asyncio.sleep(own.expovariate(1 / 0.8))
                if client.seconds() >= SECONDS:
                    return
    await asyncio.gather(*(conversation(random.Random(chance.random())) for _ in range(3)))


SCENARIOS = {"chats": chats, "long_prompt": long_prompt, "burst": burst, "poisson": poisson, "multi_turn": multi_turn}


def start_server(model, recording, options):
    server = subprocess.Popen([str(TAKT), "serve", model, "--port", "0", "--record", str(recording), *options],
                              stderr=subprocess.PIPE, text=True)
    port = 0
    for line in server.stderr:
        found = re.search(r"listening on http://[^:]+:(\d+)", line)
        port = int(found.group(1)) if found else port
        if "ready:" in line:
            # A full pipe would hold up the server in the middle of a run.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            return server, port
    sys.exit("takt serve ended before it was ready")


def record(model, name, seed, recording, options):
    part = recording.with_suffix(".part")
    server, port = start_server(model, part, options)
    try:
        asyncio.run(play(port, name, seed, recording))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    if server.returncode != 0:
        sys.exit(f"takt serve ended with status {server.returncode}")
    part.rename(recording)


async def play(port, name, seed, recording):
    warm_up = Client(port)
    await warm_up.ask(tokens(random.Random(0), 20), 4)  # the first request finds cold caches
    client = Client(port)
    await SCENARIOS[name](client, random.Random(f"{name} {seed}"))
    # All that is in the recording, so that percentiles of both are of the same requests: of a run of five, one request more
    # moves the median from one request to another.
    recording.with_suffix(".client.json").write_text(json.dumps(warm_up.replies + client.replies))


def simulate(recording, cost, seed):
    done = subprocess.run([str(TAKT), "sim", "--trace", str(recording), "--cost", str(cost), "--seed", str(seed),
                           "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def figures(report):
    """Name to value, of all classes' one: the scenarios have interactive requests only."""
    of_class, result = report["classes"]["interactive"], {}
    for what in ("ttft", "itl"):
        for level in ("p50", "p99"):
            result[f"{what.upper()} {level.upper()} ms"] = of_class[f"{what}_us"][level] / 1000
    result["tokens/s"] = (report["prompt_tokens"] + report["output_tokens"]) / report["duration_us"] * 1e6
    return result


def client_figures(path):
    """TTFT as the load generator itself measured it, network included: P50 and P99 by nearest rank, as the simulator has them."""
    replies = json.loads(path.read_text())
    ttft = sorted(times[1] - times[0] for times in replies if len(times) > 1)
    return {f"TTFT P{percent} ms": ttft[(len(ttft) * percent + 99) // 100 - 1] * 1000 for percent in (50, 99) if ttft}


def report(folder):
    cost = folder / "fitted.cost"
    fit = [str(folder / f"{name}-{FIT_SEED}.txt") for name in SCENARIOS]
    subprocess.run([str(TAKT), "sim", "--cost", str(cost), *(a for path in fit for a in ("--fit", path))], check=True)
    print(f"\n{'scenario':14} {'seed':>4}  {'figure':12} {'recorded':>10} {'simulated':>10} {'error':>8}")
    worst = {}
    for name in SCENARIOS:
        for seed in TEST_SEEDS:
            recording = folder / f"{name}-{seed}.txt"
            both = simulate(recording, cost, seed)
            real, predicted = figures(both["recorded"]), figures(both)
            for figure, value in real.items():
                error = predicted[figure] / value - 1 if value else 0.0
                worst[figure] = max(worst.get(figure, 0), abs(error))
                print(f"{name:14} {seed:4}  {figure:12} {value:10.1f} {predicted[figure]:10.1f} {error * 100:+7.1f}%")
            for figure, value in client_figures(recording.with_suffix(".client.json")).items():
                difference = value / real[figure] - 1 if real[figure] else 0.0
                print(f"{name:14} {seed:4}  {figure:12} {real[figure]:10.1f} {value:10.1f} {difference * 100:+7.1f}%  (the client's)")
    print("\nlargest error: " + ", ".join(f"{figure} {error * 100:.1f}%" for figure, error in worst.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="qwen2.5-coder-0.5b")
    parser.add_argument("--runs", type=Path, default=ROOT / "build/sim-real", help="folder of the recordings")
    parser.add_argument("--only", nargs="*", help="make these runs and report nothing, for example chats:1")
    parser.add_argument("--serve", default="", help="more options for takt serve, in one word")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="so long requests are sent in each run")
    arguments = parser.parse_args()
    globals()["SECONDS"] = arguments.seconds
    arguments.runs.mkdir(parents=True, exist_ok=True)
    runs = [(name, seed) for seed in (FIT_SEED, *TEST_SEEDS) for name in SCENARIOS]
    if arguments.only:
        runs = [(name, int(seed)) for name, seed in (run.split(":") for run in arguments.only)]
    for name, seed in runs:
        recording = arguments.runs / f"{name}-{seed}.txt"
        if recording.exists():
            continue
        print(f"recording {name}, seed {seed}", file=sys.stderr)
        record(arguments.model, name, seed, recording, arguments.serve.split())
    if not arguments.only:
        report(arguments.runs)


if __name__ == "__main__":
    main()
