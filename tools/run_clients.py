"""Runs the real client programs of tests/clients against `takt serve`: part of `./x test --all`.

Each tests/clients/*_client.py is one test. It is run in a virtual environment with tests/clients/requirements.txt, finds
the program in TAKT_BINARY and a model in TAKT_MODEL, starts its own server, and exits with 0 (passed), 77 (skipped: it
prints `skipped: why`) or anything else (failed).
"""
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ROOT / "tests/clients"
SECONDS_PER_CLIENT = 600
EXIT_SKIPPED = 77


def client_python():
    """The python of build/clients, a virtual environment that is made again when the requirements change."""
    folder, requirements = ROOT / "build/clients", CLIENTS / "requirements.txt"
    python, stamp = folder / "bin/python", folder / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing the client packages of {requirements.relative_to(ROOT)} into build/clients", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
                   check=True)
    stamp.write_text(wanted)
    return python


def run_clients(build):
    """Runs them one after another; returns 0 when none failed. Prints a line for each and the output of a failure."""
    scripts = sorted(CLIENTS.glob("*_client.py"))
    if not scripts:
        print("no client programs in tests/clients", flush=True)
        return 1
    model = subprocess.run([sys.executable, "-B", ROOT / "tools/models.py", "get", "--print-path", "smollm2-135m"], text=True,
                           stdout=subprocess.PIPE, check=True).stdout.strip()
    environment = {**os.environ, "TAKT_BINARY": str(build.resolve() / "takt"), "TAKT_MODEL": model}
    python, counts = client_python(), {"passed": 0, "failed": 0, "skipped": 0}
    for script in scripts:
        try:
            done = subprocess.run([str(python), "-B", str(script)], env=environment, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_PER_CLIENT)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            status, output = 124, f"{error.stdout or ''}\nno end after {SECONDS_PER_CLIENT} s"
        result = {0: "passed", EXIT_SKIPPED: "skipped"}.get(status, "failed")
        counts[result] += 1
        print(f"client {script.stem}: {result}", flush=True)
        if result != "passed":
            print(output, flush=True)
    print("clients: " + ", ".join(f"{count} {result}" for result, count in counts.items()), flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(run_clients(ROOT / "build/release"))
