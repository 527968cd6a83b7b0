#!/usr/bin/env python3
"""Renders every template with every conversation, with Takt and with Python's jinja2, and compares.

usage: compare.py RENDER_CASES_PROGRAM TEMPLATE_FOLDER_OR_FILE...
Exit code 77 (ctest: skipped) where jinja2 or the templates are missing.
"""
import json
import pathlib
import subprocess
import sys


def templates(arguments):
    for argument in arguments:
        path = pathlib.Path(argument)
        for file in sorted(path.glob("*.jinja")) if path.is_dir() else [path] if path.exists() else []:
            yield file.name, file.read_text(encoding="utf-8")


class Renderer:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def render(self, source, variables):
        self.process.stdin.write(json.dumps({"template": source, "variables": variables}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the renderer died (code {self.process.wait()}) on:\n{source}\n{json.dumps(variables)[:2000]}")
        return json.loads(line)


def difference(expected, actual):
    """None if they agree: the same text, or both fail (with the same message if the template raised it)."""
    if "text" in expected:
        return None if actual.get("text") == expected["text"] else "text"
    if "text" in actual:
        return "only Python fails"
    if expected["raised"] and actual["error"] != expected["error"]:
        return "message"
    return None


def main():
    try:
        from reference import render
    except ImportError:
        print("skipped: needs Python's jinja2")
        return 77
    from conversations import cases
    found = list(templates(sys.argv[2:]))
    if not found:
        print("skipped: needs ../shared (TAKT_SHARED)")
        return 77
    renderer, failed, failures_agreed, total = Renderer(sys.argv[1]), 0, 0, 0
    for name, source in found:
        for case, variables in cases():
            expected, actual = render(source, variables), renderer.render(source, variables)
            total += 1
            failures_agreed += "error" in expected and "error" in actual
            reason = difference(expected, actual)
            if reason is None:
                continue
            failed += 1
            if failed <= 20:
                print(f"--- {name} {case}: {reason}\n  python: {expected}\n  takt:   {actual}")
    print(f"{len(found)} templates, {total} cases, {failed} differ, {failures_agreed} fail in both")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
