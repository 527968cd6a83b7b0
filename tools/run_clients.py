#!/usr/bin/env python3
"""Runs the real client programs of tests/clients against `takt serve`: `run_clients.py [--build FOLDER]`.

Each tests/clients/*_test.py and *_test.sh is one test: it gets the address of a running server, and exits with 0 when it
passed or printed `skipped: why`. Python programs run in a virtual environment with tools/client_requirements.txt. All use
one server on the default model, which must stop by itself, with status 0, when it is told to.
"""
import argparse
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = Path(__file__).with_name("client_requirements.txt")
MODEL = "smollm2-135m"
SECONDS_PER_CLIENT, SECONDS_TO_START, SECONDS_TO_STOP = 600, 120, 60


def client_python(folder=ROOT / "build/clients", requirements=REQUIREMENTS):
    """The python of a folder, a virtual environment that is made again when the requirements change."""
    python, stamp = folder / "bin/python", folder / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    print(f"installing the packages of {requirements.relative_to(ROOT)} into {folder.relative_to(ROOT)}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
                   check=True)
    stamp.write_text(wanted)
    return str(python)


class Server:
    """`takt serve` on a free port of loopback; what it says goes to a log."""

    def __init__(self, build):
        model = subprocess.run([sys.executable, "-B", ROOT / "tools/models.py", "get", "--print-path", MODEL], text=True,
                               stdout=subprocess.PIPE, check=True).stdout.strip()
        self.log = build / "clients-server.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(build / "takt"), "serve", model, "--port", "0"], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT)

    def address(self):
        """Waits until the model is loaded."""
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self.process.poll() is None:
            said = self.log.read_text()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            if found and "ready" in said:
                return found.group(0)
            time.sleep(0.1)
        raise RuntimeError(f"takt serve did not become ready:\n{self.log.read_text()}")

    def stop(self):
        """The exit status after SIGTERM, or None when it had to be killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def run_client(command):
    """("passed" | "skipped" | "failed", output)"""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS_PER_CLIENT, env={**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"})
    except subprocess.TimeoutExpired:
        return "failed", f"no end after {SECONDS_PER_CLIENT} s"
    if done.returncode != 0:
        return "failed", done.stdout
    return ("skipped" if re.search(r"^skipped: ", done.stdout, re.M) else "passed"), done.stdout


def run_clients(build):
    """Runs them one after another and prints a line for each, and what a failed or skipped one said. 0: none failed."""
    clients = ROOT / "tests/clients"
    scripts = sorted([*clients.glob("*_test.py"), *clients.glob("*_test.sh")])
    if not scripts:
        sys.exit("no client programs in tests/clients")
    python, counts = client_python(), {"passed": 0, "failed": 0, "skipped": 0}
    server = Server(build)
    try:
        address = server.address()
        for script in scripts:
            result, output = run_client([python if script.suffix == ".py" else "bash", str(script), address])
            counts[result] += 1
            print(f"client {script.name}: {result}", flush=True)
            if result != "passed":
                print(output, flush=True)
    finally:
        status = server.stop()
    if status != 0:
        counts["failed"] += 1
        print(f"client: the server ended with {status} after SIGTERM:\n{server.log.read_text()}")
    print("clients: " + ", ".join(f"{count} {result}" for result, count in counts.items()), flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    try:
        sys.exit(run_clients(parser.parse_args().build))
    except (RuntimeError, subprocess.CalledProcessError) as failure:
        sys.exit(str(failure))
