"""What ./x installs is what the sources include, no more and no less; and the lowest versions are those that cmake asks for."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_tree  # noqa: E402

PACKAGES = (ROOT / "tools/packages.sh").read_text()
SYSTEM_FOLDERS = ("sys", "arpa", "netinet", "net", "linux", "asm", "bits")
SYSTEM_HEADERS = {"fcntl.h", "poll.h", "pthread.h", "unistd.h", "stdlib.h", "string.h", "signal.h", "sched.h", "errno.h", "stddef.h",
                  "stdint.h", "math.h", "time.h", "dirent.h", "immintrin.h", "cpuid.h", "x86intrin.h", "arm_neon.h"}


def library_of(header):
    """"boost" for boost/json.hpp, "pcre2.h" for itself, None for the standard library and the system."""
    folder = header.split("/")[0]
    if folder in SYSTEM_FOLDERS or header in SYSTEM_HEADERS or "/" not in header and "." not in header:
        return None
    return folder


class Packages(unittest.TestCase):
    def test_every_library_in_use_is_listed_and_no_other(self):
        listed = {line.split("|")[0].split("/")[0] for line in PACKAGES.split('HEADERS="')[1].split('"')[0].split()
                  if "|" in line}
        used = {}
        for source in check_tree.read_sources(ROOT).values():
            for line, header, is_quoted in source.includes:
                if not is_quoted and library_of(header):
                    used.setdefault(library_of(header), f"{source.path}:{line}")
        self.assertEqual({library: place for library, place in used.items() if library not in listed}, {},
                         "in use but not in HEADERS of tools/packages.sh")
        self.assertEqual(listed - used.keys(), set(), "in HEADERS of tools/packages.sh but not in use")

    def test_versions_agree_with_cmake(self):
        cmake = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "third_party/CMakeLists.txt").read_text()
        self.assertEqual(re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake).group(1),
                         re.search(r"^CMAKE_MIN=(\S+)", PACKAGES, re.M).group(1))
        major, minor = re.search(r"find_package\(Boost (\d+)\.(\d+)", cmake).groups()
        self.assertEqual(int(major) * 100000 + int(minor) * 100, int(re.search(r"^BOOST_MIN=(\d+)", PACKAGES, re.M).group(1)))


if __name__ == "__main__":
    unittest.main()
