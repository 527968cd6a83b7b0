#!/usr/bin/env python3
"""Runs the browser tests: `run.py [--build FOLDER] [UNITTEST NAMES…]`. Writes screenshots to FOLDER/browser.

Needs TAKT_TEST_ALL=1 (`./x test --all` sets it), Chromium (`chromium` in PATH, or TAKT_CHROMIUM), and the Python package
playwright, which is installed into build/browser-python unless this Python has it. Says `skipped: needs …` and ends with 77
when something is missing.
"""
import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77


def skip(what):
    print(f"skipped: needs {what}")
    sys.exit(SKIPPED)


def python_with_playwright():
    """This Python when it has the package, else that of a virtual environment that does."""
    if importlib.util.find_spec("playwright"):
        return sys.executable
    sys.path.insert(0, str(ROOT / "tools"))
    from run_clients import client_python
    try:
        return client_python(ROOT / "build/browser-python", HERE / "requirements.txt")
    except (subprocess.CalledProcessError, OSError):
        return skip("the Python package playwright")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if os.environ.get("TAKT_TEST_ALL") != "1":
        skip("./x test --all (a browser)")
    chromium = os.environ.get("TAKT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        skip("chromium")
    python = python_with_playwright()
    if python != sys.executable:
        os.execv(python, [python, "-B", *sys.argv])
    os.environ.update(TAKT_CHROMIUM=chromium, TAKT_BUILD=str(options.build.resolve()))
    sys.path.insert(0, str(HERE))
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(options.names) if options.names else loader.discover(str(HERE), pattern="*_test.py")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)


if __name__ == "__main__":
    main()
