#!/usr/bin/env python3
"""Runs ctest and says what a person needs to know: `run_tests.py [--all] [--skipped] [--build FOLDER] [-- CTEST OPTIONS]`.

Prints the output of what fails, what was skipped and why, one line that counts, and ctest's own closing line. With --all,
tests that take long or need the larger models run too (TAKT_TEST_ALL=1), then the real client programs. With --skipped, only what the run before skipped, in the hope
that what was missing is there now.
"""
import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

from progress import Progress

ROOT = Path(__file__).resolve().parent.parent
SECONDS_PER_TEST = 900
RESULT = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: .*?(?P<word>Passed|\*\*\*.*?) +[\d.]+ sec")  # names may have spaces
CLOSING = re.compile(r"^\d+% tests passed, \d+ tests? failed out of \d+")
NOISE = re.compile(r"^( *Start +\d+: |Test project |Total Test time|Internal ctest changing|Label Time Summary|\S+ += +[\d.]+ sec\*proc|\s*$)")
GTEST_SKIP = re.compile(r": Skipped\n([^\n\[]+)")
PLAIN_SKIP = re.compile(r"^skipped: ([^\n]+)", re.M)


def skip_reason(output):
    """Why a test skipped itself, from what it printed: GoogleTest's words, or a line `skipped: …`."""
    found = GTEST_SKIP.search(output) or PLAIN_SKIP.search(output)
    return found.group(1).strip() if found else "no reason given"


class Outcome:
    """What ctest's report file says: counts, which tests were skipped, and how often each reason was given."""

    def __init__(self, report):
        self.passed = self.failed = self.cases_skipped = 0
        self.skipped_names, self.reasons = [], Counter()
        for case in xml.parse(report).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            skip = case.find("skipped")
            if case.get("status") == "disabled":
                self.note_skip(case, "disabled")
            elif skip is not None and skip.get("message", "").startswith("SKIP_"):
                self.note_skip(case, skip_reason(output))
            elif case.get("status") != "run":
                self.failed += 1
            else:
                self.passed += 1
                self.note_skipped_cases(output)

    def note_skip(self, case, reason):
        self.skipped_names.append(case.get("name"))
        self.reasons[reason] += 1

    def note_skipped_cases(self, output):
        """A program that is one entry in ctest's eyes has passed, yet may have skipped single cases."""
        for reason in GTEST_SKIP.findall(output):
            self.cases_skipped += 1
            self.reasons[reason.strip()] += 1

    def lines(self):
        for reason, count in self.reasons.most_common():
            yield f"  {count} skipped: {reason}"
        if self.cases_skipped:
            yield f"  ({self.cases_skipped} of these are single cases of programs counted as passed)"
        yield f"{self.passed} passed, {self.failed} failed, {len(self.skipped_names)} skipped"

    def pattern_of_skipped(self):
        """For ctest -R. What follows "  #" is the value of a parameter, and may hold an address."""
        names = sorted({name.split("  #")[0] for name in self.skipped_names})
        return "^(" + "|".join(re.sub(r"([][.*+?^$()|\\\\])", r"\\\1", name) for name in names) + ")(  #.*)?$"


def stream(ctest, progress):
    """Passes on what matters of ctest's output as it comes; returns its closing line."""
    closing, is_listing = "", False
    for line in ctest.stdout:
        result = RESULT.match(line)
        if result:
            progress.show(f"{result.group(1)} of {result.group(2)}")
            if result.group("word") in ("Passed", "***Skipped"):
                continue
        if CLOSING.match(line):
            closing = line.strip()
        is_listing = is_listing and line.startswith("\t") or line.startswith("The following tests did not run")
        if NOISE.match(line) or CLOSING.match(line) or is_listing and "(Skipped)" in line or line.startswith("The following tests did not"):
            continue
        progress.clear()
        print(line, end="", flush=True)
    progress.clear()
    return closing


def run_ctest(folder, all_tests, options, report_name="ctest.xml"):
    report = folder.resolve() / report_name  # ctest takes a relative name from its own folder
    report.unlink(missing_ok=True)
    jobs = os.environ.get("TAKT_JOBS") or str(len(os.sched_getaffinity(0)))
    command = ["ctest", "--test-dir", str(folder), "--output-on-failure", "--no-tests=error", "-j", jobs,
               "--timeout", str(SECONDS_PER_TEST), "--output-junit", str(report), "--test-output-size-passed", "65536", *options]
    environment = {**os.environ, **({"TAKT_TEST_ALL": "1"} if all_tests else {})}
    ctest = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                             errors="replace", env=environment)
    closing = stream(ctest, Progress("testing"))
    status = ctest.wait()
    if report.exists():
        print("\n".join(Outcome(report).lines()))
    if closing:
        print(closing, flush=True)
    return status


def main(arguments):
    options = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--skipped", action="store_true")
    own = parser.parse_args(arguments[:len(arguments) - len(options) - ("--" in arguments)])
    if own.skipped:
        before = Outcome(own.build / "ctest.xml")
        if not before.skipped_names:
            print("nothing was skipped")
            return 0
        return run_ctest(own.build, own.all, ["-R", before.pattern_of_skipped(), *options], "ctest-skipped.xml")
    if own.all:
        from run_clients import run_clients
        clients_status = run_clients(own.build)
    else:
        clients_status = 0
    return run_ctest(own.build, own.all, options) or clients_status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
