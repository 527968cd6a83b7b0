#!/usr/bin/env python3
"""A real Prometheus scrapes a running `takt serve`: `prometheus_test.py http://HOST:PORT`.

promtool finds nothing to complain of in the takt_ metrics; every alert rule is read, every panel of the dashboard can be
evaluated; and the figures are those of the replies.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 60


def fetch(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=60) as reply:
        return reply.read().decode()


def check(holds, what):
    if not holds:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}")


def takt_metrics_only(page):
    """Foreign names have colons, which promtool's lint keeps for recording rules."""
    return "".join(line + "\n" for line in page.splitlines() if line.split("# HELP ")[-1].split("# TYPE ")[-1].startswith("takt_"))


def wait_for(condition, what):
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"failed: {what} within {SECONDS_MAX} s")


class Prometheus:
    def __init__(self, folder, target):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        shutil.copy(ROOT / "deploy/prometheus/takt-alerts.yml", folder)
        config = (ROOT / "deploy/prometheus/prometheus.yml").read_text()
        config = config.replace("127.0.0.1:8080", target).replace("scrape_interval: 5s", "scrape_interval: 1s")
        (Path(folder) / "prometheus.yml").write_text(config)
        self.log = open(Path(folder) / "log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=subprocess.STDOUT)

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(query)
        return json.loads(fetch(url))["data"]

    def values(self, expression):
        return [float(series["value"][1]) for series in self.ask("query", query=expression)["result"]]


def check_page(base):
    checked = subprocess.run(["promtool", "check", "metrics"], input=takt_metrics_only(fetch(f"{base}/metrics")), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(checked.returncode == 0 and not checked.stdout.strip(), f"promtool check metrics {checked.stdout}")
    checked = subprocess.run(["promtool", "check", "rules", str(ROOT / "deploy/prometheus/takt-alerts.yml")], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(checked.returncode == 0, f"promtool check rules {checked.stdout if checked.returncode else ''}")


def check_dashboard(prometheus):
    dashboard = json.loads((ROOT / "deploy/grafana/takt-dashboard.json").read_text())
    # Of these there may be none in a short run on a small model.
    may_be_empty = ("Prefix cache",)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            values = prometheus.values(expression)
            check(values or panel["title"].startswith(may_be_empty), f"panel '{panel['title']}' {target['refId']} has data")


def main():
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            print(f"skipped: needs {program}")
            return
    base = sys.argv[1].rstrip("/")
    count = "sum(takt_output_tokens_total)"
    with tempfile.TemporaryDirectory() as folder:
        prometheus = Prometheus(folder, base.removeprefix("http://"))
        try:
            wait_for(lambda: prometheus.values('up{job="takt"}') == [1.0], "Prometheus reaches the server")
            before = prometheus.values(count)[0]
            tokens = 0
            for i in range(6):
                reply = json.loads(fetch(f"{base}/v1/completions", {"prompt": f"Count to {i}:", "max_tokens": 12, "ignore_eos": True}))
                tokens += reply["usage"]["completion_tokens"]
                time.sleep(0.5)
            wait_for(lambda: prometheus.values(count)[0] == before + tokens, f"the {tokens} tokens of the replies are counted")
            check(True, f"the {tokens} tokens of the replies are counted")
            check(prometheus.values('sum({__name__="vllm:generation_tokens_total"})') == prometheus.values(count), "vllm: says the same")
            check_page(base)
            check_dashboard(prometheus)
            groups = prometheus.ask("rules")["groups"]
            names = [rule["name"] for group in groups for rule in group["rules"]]
            check(len(names) >= 6 and all(rule["health"] != "err" for group in groups for rule in group["rules"]), f"alert rules: {', '.join(names)}")
        finally:
            prometheus.process.terminate()
            prometheus.process.wait()


if __name__ == "__main__":
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    main()
