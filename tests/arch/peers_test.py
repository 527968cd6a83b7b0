#!/usr/bin/env python3
"""tools/peers.py against programs that print what the real ones print."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import peers  # noqa: E402

# Prints what `takt bench`, `takt bench rows`, `takt bench roofline` and llama.cpp's programs print; speed: of everything.
PROGRAM = """#!{python}
import json, os, sys
words, speed = sys.argv[1:], {speed}
with open({log!r}, "a") as log:
    log.write({name!r} + " " + " ".join(words[:3]) + "\\n")
def option(name, default):
    return words[words.index(name) + 1] if name in words else default
if "roofline" in words:
    print(json.dumps({{"machine": {{"processor": "P", "cores": 2, "threads": 2, "isa": ["avx2"], "memory_bytes": 8e9,
                                    "caches": [{{"level": 1, "bytes": 32768}}]}}}}))
elif "rows" in words:
    print(json.dumps({{"points": [{{"rows": rows, "tokens_per_s": rows * speed}} for rows in (1, 2, 4, 8, 16, 32)]}}))
elif "-npl" in words:
    for rows in option("-npl", "").split(","):
        print(json.dumps({{"pl": int(rows), "speed_tg": int(rows) * speed}}))
elif "--raw" in words or "-no-cnv" in words:
    if {name!r} == "broken":
        sys.exit("no such model")
    print("x")
else:
    for prompt, tokens in ((option("-p", "0"), 0), (0, option("-n", "0"))):
        if int(prompt) + int(tokens) > 0:
            print(json.dumps({{"n_prompt": int(prompt), "n_gen": int(tokens), "n_depth": int(option("-d", "0")), "avg_ts": speed}}))
"""


class Peers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log"
        (self.folder / "model.gguf").write_text("")

    def write_program(self, path, name, speed):
        path.parent.mkdir(exist_ok=True)
        path.write_text(PROGRAM.format(python=sys.executable, speed=speed, name=name, log=str(self.log)))
        path.chmod(0o755)

    def write_programs(self, first_llama="llama"):
        self.write_program(self.folder / "takt", "takt", 30)
        for program in ("llama-bench", "llama-batched-bench", "llama-completion"):
            self.write_program(self.folder / "bin" / program, first_llama, 10)

    def run_peers(self, *arguments):
        command = [sys.executable, "-B", str(ROOT / "tools/peers.py"), "--takt", str(self.folder / "takt"), "--llama",
                   str(self.folder / "bin"), *arguments, str(self.folder / "model.gguf")]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TAKT_CACHE": str(self.folder)})

    def test_every_row_and_the_ratios(self):
        self.write_programs()
        done = self.run_peers("-r", "2", "--markdown", str(self.folder / "table.md"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "table.md").read_text(), done.stdout)
        for title in ("prefill 512", "prefill 4096", "decode at depth 0", "decode at depth 4096", "decode, 32 rows"):
            row = next(line for line in done.stdout.splitlines() if line.startswith(f"| {title}"))
            self.assertIn("3.00 × (3.00 to 3.00)", row)
        self.assertIn("| load to first token (less is better) | s |", done.stdout)
        self.assertIn("| peak memory (less is better) | MB |", done.stdout)
        self.assertIn("All programs with 2 threads", done.stdout)

    def test_programs_alternate(self):
        self.write_programs()
        self.run_peers("-r", "3", "--tests", "prefill4096")
        runs = [line.split()[0] for line in self.log.read_text().splitlines() if "roofline" not in line]
        self.assertEqual(runs, ["takt", "llama"] * 3)

    def test_results_add_up(self):
        self.write_programs()
        results = self.folder / "results.json"
        for _ in range(2):
            self.assertEqual(self.run_peers("-r", "1", "--tests", "rows", "--results", str(results)).returncode, 0)
        samples = json.loads(results.read_text())["samples"]["model"]
        self.assertEqual(samples["rows 8"], {"takt": [240, 240], "llama.cpp": [80, 80]})

    def test_what_a_program_cannot_do_is_said_and_left_out(self):
        self.write_programs(first_llama="broken")
        done = self.run_peers("-r", "1", "--tests", "load")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no such model", done.stderr)
        row = next(line for line in done.stdout.splitlines() if "peak memory" in line)
        self.assertTrue(row.startswith("| peak memory"), row)

    def test_wrong_options(self):
        self.write_programs()
        for arguments in (("--tests", "speed"), ("-r", "0"), ("-t", "-1")):
            done = self.run_peers(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(arguments[0].lstrip("-")[0], done.stderr)
        (self.folder / "bin/llama-bench").unlink()
        self.assertIn("has no llama-bench", self.run_peers().stderr)

    def test_ratios_are_of_one_repetition(self):
        self.assertEqual(peers.ratio_text([10, 40], [5, 10]), "3.00 × (2.00 to 4.00)")
        self.assertEqual(peers.ratio_text([10], [4]), "2.50 ×")
        self.assertEqual(peers.ratio_text([], []), "–")


if __name__ == "__main__":
    unittest.main()
