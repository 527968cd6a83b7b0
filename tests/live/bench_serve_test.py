#!/usr/bin/env python3
"""`takt bench serve` against `takt serve` with a tiny synthetic model: `bench_serve_test.py PROGRAM`."""
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

TAKT = sys.argv.pop(1)
SCENARIOS = {"interference": ["--long", "600", "--settle", "0.5"], "burst": ["--long", "600", "--count", "6"],
             "second-turn": ["--long", "400"], "background": ["--count", "6", "--settle", "0.5"]}


class BenchServe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        model = cls.folder / "tiny.gguf"
        subprocess.run([TAKT, "synth", "--like", "qwen2.5-0.5b", "--quant", "Q4_K_M", "--tiny", str(model)], check=True)
        cls.server = subprocess.Popen([TAKT, "serve", str(model), "--port", "0", "--ctx", "2048"], stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.stop)
        for line in cls.server.stderr:
            if found := re.search(r"listening on (http://\S+?),", line):
                cls.url = found.group(1)
            if " ready:" in line:
                break
        threading.Thread(target=cls.server.stderr.read, daemon=True).start()

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.wait()

    def bench(self, *arguments, url=None, status=0):
        done = subprocess.run([TAKT, "bench", "serve", url or self.url, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def points(self, *arguments):
        return json.loads(self.bench("--json", *arguments))["points"]

    def test_open_loop_sends_what_was_planned(self):
        svg = self.folder / "load.svg"
        slow, fast = self.points("--rate", "40,80", "--requests", "40", "--prompt", "100", "--output", "uniform:5:20",
                                 "--slo", "ttft=60s,itl=60s,gap=60s", "--svg", str(svg))
        for point in (slow, fast):
            self.assertEqual((point["requests"], point["answered"], point["errors"]), (40, 40, {}))
            self.assertEqual(point["output_length_error"], 0)
            self.assertLess(point["prompt_length_error"], 0.05)  # a word is five tokens of this vocabulary
            self.assertEqual(point["ttft_ms"]["count"], 40)
            # One ITL sample a token but each first one, however the tokens came in chunks.
            self.assertAlmostEqual(point["itl_ms"]["count"], point["output_tokens"] - 40, places=3)
            self.assertEqual(point["within_share"], 1)
            self.assertLess(point["cached_tokens"], 40 * 4)  # no more than some digits of the number that each begins with
        self.assertEqual(slow["output_tokens"], fast["output_tokens"])  # the rate changes times only
        self.assertTrue(svg.read_text().endswith("</svg>\n"))

    def test_closed_loop_turns_and_shared_beginnings(self):
        for endpoint in ("completions", "chat"):
            (point,) = self.points("--concurrency", "3", "--requests", "12", "--turns", "3", "--prompt", "100", "--output", "8",
                                   "--endpoint", endpoint)
            self.assertEqual((point["answered"], point["errors"]), (12, {}))
            self.assertGreater(point["cached_tokens"], 12 * 40)  # turns repeat what was said
        (point,) = self.points("--concurrency", "1", "--requests", "5", "--prompt", "200", "--output", "4", "--shared-prefix", "128")
        self.assertGreaterEqual(point["cached_tokens"], 4 * 96)
        self.assertLess(point["prompt_length_error"], 0.05)

    def test_tokens_are_seen_as_they_come(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=self.stream_slowly, args=(listener,), daemon=True).start()
            figures = json.loads(self.bench("--concurrency", "1", "--requests", "1", "--json",
                                            url=f"http://127.0.0.1:{listener.getsockname()[1]}"))["points"][0]
        # Ten tokens, as long after one another: the first comes after a tenth of the time, not when the last does.
        self.assertLess(figures["ttft_ms"]["p50"], 0.5 * figures["end_to_end_ms"]["p50"])
        self.assertLess(figures["gap_longest_ms"]["p50"], 0.5 * figures["end_to_end_ms"]["p50"])
        self.assertEqual(figures["itl_ms"]["count"], 9)

    @staticmethod
    def stream_slowly(listener):
        """Each token a whole chunk of HTTP's in one packet, and nothing of the next one until it comes."""
        for answer in range(3):  # the first two are those by which the client learns how tokens are counted
            connection, _ = listener.accept()
            with connection:
                received = b""
                while b"\r\n\r\n" not in received:
                    received += connection.recv(65536)
                head, body = received.split(b"\r\n\r\n", 1)
                length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
                while len(body) < length:
                    body += connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for token in range(1 if answer < 2 else 10):
                    time.sleep(0.05)
                    event = b'data: {"choices":[{"text":"x"}]}\n\n'
                    connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
                connection.sendall(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    def test_trace(self):
        trace = self.folder / "trace.csv"
        trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,100,4\n2023-11-16 18:15:47.18,300,9\n")
        (point,) = self.points("--trace", str(trace))
        self.assertEqual((point["answered"], point["output_tokens"]), (2, 13))
        self.assertGreaterEqual(point["duration_s"], 0.5)

    def test_scenarios(self):
        for name, arguments in SCENARIOS.items():
            figures = json.loads(self.bench("--scenario", name, "--json", *arguments))
            self.assertEqual(figures["scenario"], name)
        self.assertGreater(json.loads(self.bench("--scenario", "second-turn", "--long", "400", "--json"))["second_cached_tokens"], 300)

    def test_rate_search(self):
        report = json.loads(self.bench("--find-rate", "--rate", "1000", "--requests", "10", "--prompt", "50", "--output", "4",
                                       "--slo", "ttft=1us", "--json"))
        self.assertIsNone(report["highest_rate_rps"])
        self.assertGreater(len(report["points"]), 2)
        self.assertIn("--slo", self.bench("--find-rate", status=1))

    def test_errors_are_counted_by_kind(self):
        (point,) = self.points("--rate", "50", "--requests", "4", "--prompt", "3000", "--slo", "ttft=60s")
        self.assertEqual((point["requests"], point["answered"], point["errors"], point["within_share"]), (4, 0, {"http 400": 4}, 0))
        self.assertIn("2048", point["error_examples"]["http 400"])

    def test_bad_input(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.assertIn("does not answer", self.bench(url=nobody, status=1))
        self.assertIn("expected a URL", self.bench(url="localhost", status=1))
        self.assertIn("--prompt", self.bench("--prompt", "many", status=1))
        self.assertIn("line 1", self.bench("--trace", "/dev/null", status=1))


if __name__ == "__main__":
    unittest.main()
