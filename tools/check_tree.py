#!/usr/bin/env python3
"""The rules of the tree that a script can check: `check_tree.py [--root DIR] [--soft] [--tighten] [--linked BUILD_NINJA]`.

  layers    every include of ours against src/LAYERS; what may not reach a barred header; what takt-sim may not contain
  names     file names in snake_case, none of the words that say nothing, headers with #pragma once, the right namespace
  lengths   functions 40 lines soft, 70 hard; files 400 soft, 800 hard; tools/length_ratchet.txt lists what was longer when
            it was written, and may only shrink

Prints one line for each fault (file:line: rule: what is wrong) and exits with 1 when there is one.
"""
import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from cpp_functions import code_only, functions_of
from layers import Layers, LayersError

FUNCTION_LINES_SOFT, FUNCTION_LINES_HARD = 40, 70
FILE_LINES_SOFT, FILE_LINES_HARD = 400, 800
SOURCE_FOLDERS = ("src", "apps", "tests", "fuzz", "bench")
BARRED_WORDS = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]*)"|<([^>]*)>)', re.M)
RATCHET_FILE = "tools/length_ratchet.txt"


@dataclass(frozen=True)
class Fault:
    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


class Source:
    """One C++ file: its path from the root, its text, and what it includes."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.line_count = self.text.count("\n") + (not self.text.endswith("\n"))
        code = code_only(self.text)
        self.includes = []  # (line, header, is_quoted)
        for match in INCLUDE.finditer(self.text):
            if code[match.start():match.end()].lstrip().startswith("#"):  # not inside a comment
                line = self.text.count("\n", 0, match.start()) + 1
                self.includes.append((line, match.group(1) or match.group(2), match.group(1) is not None))


def read_sources(root):
    paths = [path for folder in SOURCE_FOLDERS for path in (root / folder).rglob("*")
             if path.suffix in (".cc", ".h") and path.is_file()]
    return {source.path: source for source in (Source(root, path) for path in sorted(paths))}


# ---- layers

def layer_faults(sources, layers):
    for source in sources.values():
        if not source.path.startswith(("src/", "apps/")):
            continue
        own = layers.layer_of(source.path.removeprefix("src/"))
        if own is None:
            yield Fault(source.path, 1, "layers", "is in no folder that src/LAYERS lists")
            continue
        for line, header, is_quoted in source.includes:
            text = include_fault(source, own, header, is_quoted, sources, layers)
            if text:
                yield Fault(source.path, line, "layers", text)


def include_fault(source, own, header, is_quoted, sources, layers):
    """What is wrong with one include, or None."""
    is_ours = f"src/{header}" in sources
    if not is_quoted:
        return f"<{header}> is ours: write \"{header}\"" if is_ours else None
    if own == "apps" and (f"apps/{header}" in sources or header in sources):
        return None
    if header.startswith("apps/"):
        return "nobody includes apps/"
    if not is_ours:
        return f"\"{header}\" is no file under src/; our headers are included as \"folder/file.h\""
    target = layers.layer_of(header)
    if not layers.may_include(own, target):
        return f"{own} may not include {target} (\"{header}\"); it may include: {layers.allowed_text(own)}"
    here = source.path.removeprefix("src/")
    for one, other in layers.apart:
        if is_under(here, one) and is_under(header, other) or is_under(here, other) and is_under(header, one):
            return f"{one} and {other} never include each other (\"{header}\")"
    return None


def is_under(path, folder):
    return path.startswith(folder + "/")


def reach(source, sources):
    """Every header reached from a file, ours and foreign: header -> (line of the first step, path of includes)."""
    reached, queue = {}, [(source, None, ())]
    while queue:
        current, first_line, trail = queue.pop(0)
        for line, header, _ in current.includes:
            if header in reached:
                continue
            reached[header] = (first_line or line, (*trail, header))
            if f"src/{header}" in sources:
                queue.append((sources[f"src/{header}"], first_line or line, (*trail, header)))
    return reached


def reach_faults(sources, layers):
    """The lines `barred: FOLDER HEADER…` and `without: FILE FOLDER…` of src/LAYERS: nothing of the kind, however deep."""
    for source in sources.values():
        here = source.path.removeprefix("src/")
        if here.endswith("_test.cc"):
            continue
        headers = {header for folder, barred in layers.barred if is_under(here, folder) for header in barred}
        folders = {folder for path, barred in layers.without if path == source.path for folder in barred}
        if not headers and not folders:
            continue
        for header, (line, trail) in reach(source, sources).items():
            if header in headers or f"src/{header}" in sources and any(is_under(header, folder) for folder in folders):
                yield Fault(source.path, line, "layers", f"may not reach <{header}>, and does by {' -> '.join(trail)}")


def linked_libraries(build_ninja):
    """Program -> the names of the static libraries on its link line, from what cmake wrote for ninja."""
    linked, program = {}, None
    for line in build_ninja.read_text().splitlines():
        if line.startswith("build "):
            match = re.match(r"build (\S+): CXX_EXECUTABLE_LINKER", line)
            program = Path(match.group(1)).name if match else None
        elif program and line.strip().startswith("LINK_LIBRARIES ="):
            linked[program] = set(re.findall(r"lib(\w+)\.a\b", line))
    return linked


def library_faults(layers, build_ninja):
    """The `unlinked:` lines of src/LAYERS."""
    linked = linked_libraries(build_ninja)
    for program, barred in layers.unlinked:
        if program not in linked:
            yield Fault("src/LAYERS", 1, "layers", f"{program} is not among the programs of {build_ninja}")
        for library in sorted(linked.get(program, set()) & {f"takt_{folder}" for folder in barred}):
            yield Fault("apps/CMakeLists.txt", 1, "layers", f"{program} links {library}, and may not")


# ---- names

def name_faults(root, sources):
    paths = [path.relative_to(root).as_posix() for folder in (*SOURCE_FOLDERS, "tools") for path in (root / folder).rglob("*")
             if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted(paths):
        for part in Path(path).parts:
            if set(re.split(r"[^a-z]+", part.lower())) & BARRED_WORDS:
                yield Fault(path, 1, "names", f"{part} says nothing about what is inside; name the thing it is about")
        if path in sources and not re.fullmatch(r"[a-z0-9_]+\.(cc|h)", Path(path).name):
            yield Fault(path, 1, "names", "C++ files are snake_case and end in .cc or .h")
    for source in sources.values():
        yield from content_faults(source)


def content_faults(source):
    if source.path.endswith(".h") and "#pragma once" not in source.text:
        yield Fault(source.path, 1, "names", "a header begins with #pragma once")
    if source.path.endswith("_test.cc"):
        return
    folder = source.path.split("/")[1]
    code = code_only(source.text)
    spaces = re.findall(r"^\s*(?:inline )?namespace (takt\S*)", code, re.M)
    if source.path.startswith("src/") and spaces and not any(re.match(rf"takt::{folder}\b", space) for space in spaces):
        yield Fault(source.path, 1, "names", f"the namespace of this folder is takt::{folder}, not {spaces[0]}")


# ---- lengths

def lengths_of(sources):
    """(path, line, what, lines, soft, hard) of every file and function. `what` is "file" or the function's name."""
    for source in sources.values():
        yield source.path, 1, "file", source.line_count, FILE_LINES_SOFT, FILE_LINES_HARD
        for function in functions_of(source.text):
            yield (source.path, function.line, function.name, function.line_count, FUNCTION_LINES_SOFT,
                   FUNCTION_LINES_HARD)


def read_ratchet(root):
    """(path, what) -> lines, from lines of the form `LINES PATH WHAT`."""
    file, ratchet = root / RATCHET_FILE, {}
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.strip() and not line.startswith("#"):
            count, path, what = line.split(maxsplit=2)
            ratchet[path, what] = int(count)
    return ratchet


def length_faults(sources, ratchet):
    longest = {}
    for path, line, what, count, _, hard in lengths_of(sources):
        if count > hard and count > longest.get((path, what), (0, 0, 0))[0]:
            longest[path, what] = (count, line, hard)
    for (path, what), (count, line, hard) in longest.items():
        listed = ratchet.get((path, what))
        if listed is None:
            yield Fault(path, line, "lengths", f"{what} has {count} lines; the limit is {hard}. Split it where a name offers itself")
        elif count > listed:
            yield Fault(path, line, "lengths", f"{what} grew from {listed} to {count} lines; {RATCHET_FILE} only shrinks")
        elif count < listed:
            yield Fault(path, line, "lengths", f"{what} shrank from {listed} to {count} lines: run tools/check_tree.py --tighten")
    for path, what in ratchet.keys() - longest.keys():
        yield Fault(RATCHET_FILE, 1, "lengths", f"{path} {what} is within the limit now: run tools/check_tree.py --tighten")


def tighten(root, sources):
    """Rewrites the ratchet file with today's lengths; never adds an entry, never raises one."""
    ratchet, kept = read_ratchet(root), {}
    for path, _, what, count, _, hard in lengths_of(sources):
        if (path, what) in ratchet and count > hard:
            kept[path, what] = max(kept.get((path, what), 0), min(count, ratchet[path, what]))
    head = [line for line in (root / RATCHET_FILE).read_text().splitlines() if line.startswith("#")]
    lines = [f"{count} {path} {what}" for (path, what), count in sorted(kept.items())]
    (root / RATCHET_FILE).write_text("\n".join(head + lines) + "\n")


def print_soft(sources):
    above = [(count, path, line, what) for path, line, what, count, soft, _ in lengths_of(sources) if count > soft]
    for count, path, line, what in sorted(above, reverse=True):
        print(f"{path}:{line}: {what} has {count} lines")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--soft", action="store_true", help="list what is above the soft limits, and do nothing else")
    parser.add_argument("--tighten", action="store_true", help="lower the ratchet file's entries to today's lengths")
    parser.add_argument("--linked", type=Path, help="check what is linked, by a build.ninja, instead of the sources")
    options = parser.parse_args(arguments)
    try:
        layers = Layers((options.root / "src/LAYERS").read_text())
    except (LayersError, OSError) as error:
        sys.exit(f"src/LAYERS: {error}")
    if options.linked:
        return report(list(library_faults(layers, options.linked)), f"{len(layers.unlinked)} programs link only what they may")
    sources = read_sources(options.root)
    if options.soft:
        return print_soft(sources)
    if options.tighten:
        tighten(options.root, sources)
    faults = [*layer_faults(sources, layers), *reach_faults(sources, layers), *name_faults(options.root, sources),
              *length_faults(sources, read_ratchet(options.root))]
    soft_count = sum(count > soft for _, _, _, count, soft, _ in lengths_of(sources))
    return report(faults, f"{len(sources)} files follow the layer, name and length rules; {soft_count} lengths above a soft limit")


def report(faults, praise):
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults" if faults else praise)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
