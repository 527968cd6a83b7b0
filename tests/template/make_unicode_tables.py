#!/usr/bin/env python3
"""Writes src/text/template/unicode_tables.cc: the character properties that Python's str methods use."""
import pathlib
import unicodedata

LAST = 0x10FFFF
OUT = pathlib.Path(__file__).resolve().parents[2] / "src/text/template/unicode_tables.cc"


def ranges(predicate):
    found, start = [], None
    for code in range(LAST + 2):
        inside = code <= LAST and predicate(chr(code))
        if inside and start is None:
            start = code
        if not inside and start is not None:
            found.append((start, code - 1))
            start = None
    return found


def mapping(convert):
    """Ranges (first, last, stride, delta) of one-to-one mappings, and the list of those that expand."""
    simple, special = [], []
    for code in range(LAST + 1):
        if 0xD800 <= code <= 0xDFFF:
            continue
        text = convert(chr(code))
        if text == chr(code):
            continue
        if len(text) > 1:
            special.append((code, [ord(c) for c in text]))
            continue
        delta = ord(text) - code
        if simple:
            first, last, stride, old_delta = simple[-1]
            step = code - last
            if old_delta == delta and step in (1, 2) and (first == last or step == stride):
                simple[-1] = (first, code, step, delta)
                continue
        simple.append((code, code, 1, delta))
    return simple, special


def wrapped(items):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 118:
            lines.append(line)
            line = "   "
        line += " " + item + ","
    return "\n".join(lines + [line])


def main():
    out = [
        f"// Written by tests/template/make_unicode_tables.py from Unicode {unicodedata.unidata_version}. Do not edit.",
        '#include "text/template/unicode_tables.h"',
        "",
        "// clang-format off",
        "namespace takt::text::jinja {",
        "",
    ]
    properties = {
        "kUnprintable": lambda c: not c.isprintable(),
        "kAlphabetic": str.isalpha,
        "kDecimal": str.isdecimal,
        "kDigit": str.isdigit,
        "kNumeric": str.isnumeric,
        "kUppercase": str.isupper,
        "kLowercase": str.islower,
        "kTitlecase": lambda c: c.istitle() and not c.isupper(),
    }
    for name, predicate in properties.items():
        items = [f"{{{a},{b}}}" for a, b in ranges(predicate)]
        out += [f"static const CodeRange {name}Ranges[] = {{", wrapped(items), "};",
                f"const std::span<const CodeRange> {name} = {name}Ranges;", ""]
    for name, convert in {"kUpper": str.upper, "kLower": str.lower, "kTitle": str.title}.items():
        simple, special = mapping(convert)
        items = [f"{{{a},{b},{s},{d}}}" for a, b, s, d in simple]
        out += [f"static const CaseRange {name}Ranges[] = {{", wrapped(items), "};",
                f"const std::span<const CaseRange> {name}Mapping = {name}Ranges;"]
        items = [f"{{{c},{{{','.join(map(str, t + [0] * (3 - len(t))))}}}}}" for c, t in special]
        out += [f"static const CaseExpansion {name}Expansions[] = {{", wrapped(items), "};",
                f"const std::span<const CaseExpansion> {name}Special = {name}Expansions;", ""]
    out.append("}  // namespace takt::text::jinja")
    OUT.write_text("\n".join(out) + "\n")


main()
