#!/usr/bin/env python3
"""Writes fixtures.json: small templates and what jinja2 renders from them. Needs jinja2; the tests that read it do not.

With a program (template_render_cases) as argument it compares instead and prints what differs.
"""
import json
import pathlib
import sys

from constructs import DATA, constructs
from reference import render

OUT = pathlib.Path(__file__).with_name("fixtures.json")


def main():
    cases = []
    for name, template in constructs():
        result = render(template, DATA)
        if "text" in result:
            cases.append({"name": name, "template": template, "text": result["text"]})
        else:
            case = {"name": name, "template": template, "error": result["error"]}
            if result["raised"]:
                case["raised"] = True
            cases.append(case)
    if len(sys.argv) > 1:
        from compare import Renderer
        renderer, differ = Renderer(sys.argv[1]), 0
        for case in cases:
            actual = renderer.render(case["template"], DATA)
            same = actual.get("text") == case["text"] if "text" in case else "error" in actual
            if same and "error" in case:
                expected = case["error"].split("\n")[0]
                if expected not in actual["error"]:
                    print(f"    message of {case['template']!r}:\n      python: {expected}\n      takt:   {actual['error']}")
            if not same:
                differ += 1
                print(f"--- {case['name']}: {case['template']!r}\n  python: {case.get('text', case.get('error'))!r}\n  takt:   {actual.get('text', actual.get('error'))!r}")
        print(f"{len(cases)} cases, {differ} differ")
        return 1 if differ else 0
    with OUT.open("w") as out:
        out.write('{"data": ' + json.dumps(DATA) + ',\n "cases": [\n')
        out.write(",\n".join("  " + json.dumps(case) for case in cases) + "\n]}\n")
    print(f"{len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
