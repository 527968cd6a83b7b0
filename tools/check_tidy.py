#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy) on what changed, within a time limit: `check_tidy.py [--all]`.

What changed: files that differ from origin/main or, without one, from ten commits ago, and uncommitted ones. When that
is little, other files follow in an order that differs from day to day, so that all of them get their turn. Says which
were left out. --all: every file, without a limit.
"""
import concurrent.futures
import datetime
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from progress import Progress

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 150
COMMITS_BACK = 10


def git_lines(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], text=True, capture_output=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files():
    base = git_lines("rev-parse", "--verify", "--quiet", "origin/main")
    if base and base == git_lines("rev-parse", "HEAD"):
        base = []
    base = base or git_lines("rev-parse", "--verify", "--quiet", f"HEAD~{COMMITS_BACK}")
    names = git_lines("diff", "--name-only", base[0]) if base else []
    return {str(ROOT / name) for name in (*names, *git_lines("ls-files", "--others", "--exclude-standard"))}


def tidy(file, deadline):
    """(file, status, output); status None: there was no time left."""
    if time.monotonic() > deadline:
        return file, None, ""
    done = subprocess.run(["clang-tidy", "--quiet", "-p", str(ROOT / "build/release"),
                           "--extra-arg=-Wno-unknown-warning-option", file], text=True, capture_output=True)
    return file, done.returncode, done.stdout or done.stderr


def main(arguments):
    database = json.loads((ROOT / "build/release/compile_commands.json").read_text())
    known = {os.path.join(entry["directory"], entry["file"]) for entry in database}
    ours = sorted(file for file in known if file.startswith((f"{ROOT}/src/", f"{ROOT}/apps/")) and not file.endswith("_test.cc"))
    changed = changed_files()
    first, rest = [file for file in ours if file in changed], [file for file in ours if file not in changed]
    random.Random(datetime.date.today().toordinal()).shuffle(rest)
    deadline = float("inf") if "--all" in arguments else time.monotonic() + SECONDS
    progress, done_count, left, faulty = Progress("clang-tidy"), 0, [], 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for file, status, output in pool.map(lambda file: tidy(file, deadline), first + rest):
            if status is None:
                left.append(file)
                continue
            done_count += 1
            progress.show(f"{done_count} of {len(ours)}")
            if status != 0:
                faulty += 1
                progress.clear()
                print(output, flush=True)
    progress.clear()
    print(f"clang-tidy: {done_count} of {len(ours)} files ({len(set(first) - set(left))} of {len(first)} changed ones) in the time "
          f"given, {faulty} with faults")
    return 1 if faulty else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
