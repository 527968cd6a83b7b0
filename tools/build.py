#!/usr/bin/env python3
"""Configures a preset when that is needed and builds it with ninja: `build.py PRESET [--configure-only] [TARGET…]`.

Shows progress while it works, keeps everything in build/PRESET/build.log, prints the compiler's output only when
something fails. Jobs: one a core, fewer when memory is short (a server file takes about 1.5 GB), or TAKT_JOBS.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from progress import Progress

ROOT = Path(__file__).resolve().parent.parent
BYTES_PER_JOB = 1.5e9
STATUS = re.compile(r"^\[(\d+)/(\d+)\] ?(.*)$")


def job_count():
    if os.environ.get("TAKT_JOBS", "").isdigit():
        return max(1, int(os.environ["TAKT_JOBS"]))
    cores = len(os.sched_getaffinity(0))
    try:
        available_kb = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1))
    except (OSError, AttributeError):
        return cores
    return max(1, min(cores, int(available_kb * 1024 / BYTES_PER_JOB)))


def forget_moved_tree(folder):
    """A build folder that was made for another path (a copied or renamed tree) cannot be used: start it again."""
    cache = folder / "CMakeCache.txt"
    if not cache.exists():
        return
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read_text(), re.M)
    if home and Path(home.group(1)).resolve() != ROOT:
        shutil.rmtree(folder)


def configure(preset, folder):
    forget_moved_tree(folder)
    if (folder / "build.ninja").exists():
        return  # ninja itself runs cmake again when a CMakeLists.txt has changed
    folder.mkdir(parents=True, exist_ok=True)
    print(f"configuring build/{preset}", file=sys.stderr)
    done = subprocess.run(["cmake", "-S", str(ROOT), "--preset", preset], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    (folder / "configure.log").write_text(done.stdout)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ncmake could not configure build/{preset}; its output is above.")


def build(preset, folder, targets):
    """Runs ninja and returns (exit status, steps done). What fails is printed as soon as it is known."""
    command = ["ninja", "-C", str(folder), f"-j{job_count()}", *targets]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    progress, failing, step_count = Progress("building"), False, 0
    with open(folder / "build.log", "w") as log:
        ninja = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", env=environment)
        for line in ninja.stdout:
            log.write(line)
            status = STATUS.match(line)
            if status:
                failing, step_count = False, int(status.group(1))
                progress.show(f"{status.group(1)} of {status.group(2)}")
            elif line.startswith("FAILED:"):
                failing = True
            if failing or line.startswith("ninja: error"):
                progress.clear()
                print(line, end="", file=sys.stderr)
        progress.clear()
        return ninja.wait(), step_count


def main(arguments):
    preset, targets = arguments[0], [a for a in arguments[1:] if a != "--configure-only"]
    folder = ROOT / "build" / preset
    configure(preset, folder)
    if "--configure-only" in arguments:
        return
    began = time.monotonic()
    status, step_count = build(preset, folder, targets)
    if status != 0:
        log = (folder / "build.log").read_text()
        if "rebuilding 'build.ninja'" in log:  # cmake's words come before ninja says that it failed
            print("\n".join(log.splitlines()[-40:-3]), file=sys.stderr)
        sys.exit(f"The build failed; all of its output is in build/{preset}/build.log.")
    if step_count:
        print(f"built build/{preset} ({step_count} steps, {time.monotonic() - began:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
