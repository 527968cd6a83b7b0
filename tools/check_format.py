#!/usr/bin/env python3
"""Checks our C++ files with clang-format: `check_format.py [--fix]`.

The reference is version 14: another version formats some lines differently, so there differences are shown, not failed.
"""
import re
import subprocess
import sys
from pathlib import Path

from check_tree import SOURCE_FOLDERS

ROOT = Path(__file__).resolve().parent.parent
REFERENCE_VERSION = 14


def main(arguments):
    files = [str(path) for folder in SOURCE_FOLDERS for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".cc", ".h")]
    if "--fix" in arguments:
        subprocess.run(["clang-format", "-i", *files], check=True)
        print(f"formatted {len(files)} files")
        return 0
    said = subprocess.run(["clang-format", "--version"], text=True, capture_output=True, check=True).stdout
    version = int(re.search(r"version (\d+)", said).group(1))
    done = subprocess.run(["clang-format", "--dry-run", *files], text=True, stderr=subprocess.PIPE)
    wrong = re.findall(r"^(\S+:\d+):\d+: warning: code should be clang-formatted", done.stderr, re.M)
    if not wrong:
        print(f"{len(files)} files are formatted")
        return 0
    places = sorted({place.removeprefix(f"{ROOT}/").rsplit(":", 1)[0] for place in wrong})
    print(f"{len(places)} of {len(files)} files are not formatted (./x check --fix formats them):")
    print("\n".join(f"  {place}" for place in places))
    if version != REFERENCE_VERSION:
        print(f"clang-format is version {version}, the reference is {REFERENCE_VERSION}: not counted as a fault")
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
