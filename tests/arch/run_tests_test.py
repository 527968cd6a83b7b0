"""tools/run_tests.py: what passes, fails, skips, crashes or hangs must be told apart, and the closing line must be last."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/run_tests.py"
SKIPPED = r"x.cc:3: Skipped\nneeds ../shared (TAKT_SHARED)\n\n[  SKIPPED ] A.b (0 ms)\n"
WHOLE_SKIPPED = r"[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.b\n"
WHOLE_FAILED = WHOLE_SKIPPED + r"[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.c\n\n 1 FAILED TEST\n"
TAKT_CMAKE = (Path(__file__).resolve().parents[2] / "cmake/takt.cmake").read_text()
# The very expression that takt_test(… WHOLE) uses.
WHOLE_EXPRESSION = re.search(r'SKIP_REGULAR_EXPRESSION ("(?:\\.|[^"\\])*")', TAKT_CMAKE).group(1)


class RunTests(unittest.TestCase):
    def run_entries(self, *entries, then=None):
        """entries: (name, shell command, properties). Returns the printed lines and the exit status; with `then`, those of a
        second run with that option."""
        with tempfile.TemporaryDirectory() as folder:
            lines = []
            for name, command, properties in entries:
                lines.append(f'add_test({name} [=[sh]=] [=[-c]=] [=[{command}]=])')
                if properties:
                    lines.append(f"set_tests_properties({name} PROPERTIES {properties})")
            Path(folder, "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
            for option in ([], [then])[:1 + (then is not None)]:
                done = subprocess.run([sys.executable, "-B", SCRIPT, "--build", folder, *option], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            return done.stdout.splitlines(), done.returncode

    def test_all_pass(self):
        lines, status = self.run_entries(("one", "echo noise", ""), ('"two/0 # GetParam() = (1, Passed)"', "true", ""))
        self.assertEqual(lines, ["2 passed, 0 failed, 0 skipped", "100% tests passed, 0 tests failed out of 2"])
        self.assertEqual(status, 0)

    def test_failures_of_every_kind_fail_and_show_their_output(self):
        for command, properties in (("echo some words; exit 1", ""), ("echo some words; kill -SEGV $$", ""),
                                    ("echo some words; sleep 20", "TIMEOUT 1")):
            lines, status = self.run_entries(("good", "true", ""), ("bad", command, properties))
            self.assertNotEqual(status, 0)
            self.assertIn("1 passed, 1 failed, 0 skipped", lines)
            self.assertEqual(lines[-1], "50% tests passed, 1 tests failed out of 2")
            self.assertTrue("some words" in lines, lines)

    def test_skips_are_grouped_by_reason(self):
        skip = (f"printf '{SKIPPED}'", r'SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]"')
        lines, status = self.run_entries(("one", *skip), ("two", *skip), ("three", "echo skipped: needs pip; exit 77",
                                                                         "SKIP_RETURN_CODE 77"))
        self.assertEqual(status, 0)
        self.assertEqual(lines[:3], ["  2 skipped: needs ../shared (TAKT_SHARED)", "  1 skipped: needs pip",
                                     "0 passed, 0 failed, 3 skipped"])

    def test_single_cases_skipped_inside_a_program_are_told(self):
        whole = f"SKIP_REGULAR_EXPRESSION {WHOLE_EXPRESSION}"
        lines, status = self.run_entries(("some", f"printf '{SKIPPED}[  PASSED  ] 1 test.\\n{WHOLE_SKIPPED[27:]}'", whole),
                                         ("all", f"printf '{SKIPPED}{WHOLE_SKIPPED}'", whole))
        self.assertEqual(status, 0)
        self.assertIn("  2 skipped: needs ../shared (TAKT_SHARED)", lines)
        self.assertIn("1 passed, 0 failed, 1 skipped", lines)

    def test_a_skip_never_hides_a_failure_of_the_same_program(self):
        lines, status = self.run_entries(("bad", f"printf '{SKIPPED}{WHOLE_FAILED}'; exit 1",
                                          f"SKIP_REGULAR_EXPRESSION {WHOLE_EXPRESSION}"))
        self.assertNotEqual(status, 0)
        self.assertIn("0 passed, 1 failed, 0 skipped", lines)

    def test_only_what_was_skipped(self):
        skip = (f"printf '{SKIPPED}'", r'SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]"')
        lines, status = self.run_entries(("one", "true", ""), ('"a.b/S+1  # GetParam() = (x"', *skip), ('"a.b/S+12"', "true", ""),
                                         then="--skipped")
        self.assertEqual((lines[-2:], status), (["0 passed, 0 failed, 1 skipped", "100% tests passed, 0 tests failed out of 1"], 0))
        self.assertEqual(self.run_entries(("one", "true", ""), then="--skipped"), (["nothing was skipped"], 0))

    def test_no_test_at_all_is_a_failure(self):
        self.assertNotEqual(self.run_entries()[1], 0)


if __name__ == "__main__":
    unittest.main()
