"""A `takt serve` of its own, which a test may kill and start again at the same address."""
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS_TO_START = 120
MODEL = "smollm2-135m"


def model_path(name=MODEL):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/models.py", "get", "--print-path", name], text=True,
                          stdout=subprocess.PIPE, check=True).stdout.strip()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ServerProcess:
    def __init__(self, *options, model=MODEL):
        self.build = Path(os.environ["TAKT_BUILD"])
        self.options = [model_path(model), "--port", str(free_port()), *options]
        self.address = f"http://127.0.0.1:{self.options[2]}"
        self.log = self.build / "browser/server.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.process = None

    def start(self):
        """Returns when the model is loaded."""
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(self.build / "takt"), "serve", *self.options], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self.process.poll() is None:
            if re.search(r"\bready: ", self.log.read_text()):
                return self
            time.sleep(0.05)
        raise RuntimeError(f"takt serve did not become ready:\n{self.log.read_text()}")

    def kill(self):
        """At once, as a crash or a pulled plug would."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """With SIGTERM; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait()
