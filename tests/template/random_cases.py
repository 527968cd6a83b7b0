#!/usr/bin/env python3
"""Random templates, rendered by Takt and by jinja2: they must agree on the text, or both fail.

usage: random_cases.py RENDER_CASES_PROGRAM [COUNT] [SEED]
Exit code 77 (ctest: skipped) where jinja2 is missing.
"""
import random
import re
import sys

NAMES = ["messages", "n", "f", "s", "e", "none_value", "t", "l", "words", "d", "u", "nested", "people", "x", "y", "ns", "missing", "loop", "m"]
STRINGS = ["", "a", "b", "abc", " x ", "\\n", "role", "content", "user", "é漢", "A,b,C", "<b>", "it\\'s", "%s", "{}", "<|im_end|>", "0", "12", "-3.5", "name", "  two  words ", "\\t", "Z", "é\u00a0", "\u3000x\u2003", "ß ŉ ǆ", "\\r\\n\u2028"]
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "count", "first", "last", "join", "join(', ')", "join('-', attribute='name')",
           "list", "string", "int", "float", "abs", "round", "round(1)", "sort", "sort(reverse=true)", "reverse", "reverse | list", "unique | list", "sum", "min", "max",
           "default('D')", "default('D', true)", "d(0)", "tojson", "tojson(indent=2)", "tojson(sort_keys=true)", "escape", "safe", "items | list", "dictsort", "map('upper') | list",
           "map(attribute='name') | list", "map('string') | join", "select | list", "reject('none') | list", "selectattr('role', 'equalto', 'user') | list", "rejectattr('name') | list",
           "select('string') | list", "replace('a', 'Q')", "replace('', '.')", "indent", "indent(2, true)", "batch(2) | list", "slice(2) | list", "wordcount", "truncate(5)",
           "center(9)", "format(1)", "urlencode", "filesizeformat", "groupby('name') | list", "attr('upper') is defined", "map('int') | list", "map('length') | list", "e"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable", "sequence", "true", "false", "odd", "even",
         "in [1, 'a', 2.5]", "eq 1", "equalto('a')", "ne 2", "lt 3", "ge 'a'", "divisibleby 3", "sameas none", "lower", "upper", "callable", "escaped", "not none", "not string"]
METHODS = ["upper()", "lower()", "title()", "strip()", "lstrip()", "rstrip('c')", "split()", "split(',')", "split('b', 1)", "rsplit(none, 1)", "splitlines()", "startswith('a')", "endswith(('c', ' '))",
           "replace('a', 'b')", "find('b')", "count('a')", "isdigit()", "isalpha()", "isupper()", "join(['x', 'y'])", "items()", "keys()", "values()", "get('role')", "get('zz', 1)", "index(1)",
           "partition('b')", "zfill(5)", "ljust(4)", "capitalize()", "swapcase()", "format(1, 2)", "items", "role", "content", "name", "a", "b", "x", "0", "append(1)", "casefold()", "removeprefix('a')", "format(x=1)"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in", "**", "+", "+", "~", "=="]
FORMATS = ["%s", "%5s", "%-5s|", "%d", "%05d", "%+d", "%.2f", "%x", "%r", "%e", "%g", "%c", "%%", "%8.3f", "%o", "%i", "%.2s"]
SPECS = ["", "5", "<5", ">7", "^6", "*^8", ".2f", "05", "+", ",", "x", "e", ".3g", "s", "d", "%", "#x", "b", "08.3f", "_", "=6", " ", "g", ".0f", ".1", "10,.2f"]


TEXT_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "escape", "safe", "indent", "indent(2, true)", "truncate(5)", "center(9)", "reverse", "urlencode", "string", "e", "tojson",
                "replace('a', 'Q')", "replace('', '.', 2)", "wordcount", "first", "last", "trim('a ')", "forceescape", "tojson(ensure_ascii=true)"]
TEXT_METHODS = ["upper()", "lower()", "title()", "strip()", "lstrip()", "rstrip('c')", "strip('abc ')", "replace('a', 'b')", "zfill(5)", "ljust(4)", "rjust(6, '.')", "center(7)", "capitalize()", "swapcase()",
                "removeprefix('a')", "removesuffix('c')", "split()", "split(',')", "rsplit(none, 1)", "split(none, 1)", "rsplit('b', 1)", "splitlines(true)", "startswith('a')", "endswith(('c', ' '))", "partition('b')", "rpartition('b')",
                "isdigit()", "isalnum()", "istitle()", "isspace()", "find('b', 1)", "rfind('b')", "count('')", "expandtabs()"]
LIST_FILTERS = ["reverse | list", "batch(2) | list", "batch(3, 'f') | list", "slice(2) | list", "list", "first", "last", "length", "tojson", "tojson(indent=2)", "join(', ')", "map('string') | sort", "select | list", "reject | list",
                "map('string') | unique | list", "map('string') | map('upper') | list", "map(attribute='name') | list", "map(attribute='name', default='?') | list", "selectattr('name') | list", "rejectattr('name', 'defined') | list",
                "groupby('name') | list", "string", "map('string') | max", "map('string') | min", "map('string') | sort(reverse=true, case_sensitive=true)", "default([])", "map('string') | groupby(0) | list"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def number(self):
        return self.pick(["0", "1", "2", "3", "-1", "7", "10", "2.5", "-0.5", "1e3", "0.1", "100", "1e-7", "3.0"])

    def string(self):
        return "'" + self.pick(STRINGS) + "'"

    def expression(self, depth):
        r = self.random.random()
        if depth <= 0 or r < 0.15:
            return self.pick([self.number, self.string, lambda: self.pick(NAMES), lambda: self.pick(NAMES), lambda: self.pick(["true", "false", "none"])])()
        sub = lambda: self.expression(depth - 1)
        if r < 0.30:
            return f"{sub()} {self.pick(BINARY)} {sub()}"
        if r < 0.45:
            return f"({sub()}) | {self.pick(FILTERS)}"
        if r < 0.52:
            return f"({sub()}) is {self.pick(TESTS)}"
        if r < 0.66:
            return f"({sub()}).{self.pick(METHODS)}" if self.random.random() < 0.5 else f"{self.pick(NAMES)}.{self.pick(METHODS)}"
        if r < 0.74:
            return f"({sub()})[{self.pick([sub(), self.slice(), self.slice(), self.number(), self.string()])}]"
        if r < 0.78:
            return "[" + ", ".join(sub() for _ in range(self.random.randrange(4))) + "]"
        if r < 0.81:
            return "(" + "".join(sub() + ", " for _ in range(self.random.randrange(3))) + ")"
        if r < 0.85:
            return "{" + ", ".join(f"{self.pick([self.string(), self.number(), sub()])}: {sub()}" for _ in range(self.random.randrange(3))) + "}"
        if r < 0.89:
            return f"({sub()} if {sub()}" + (f" else {sub()})" if self.random.random() < 0.8 else ")")
        if r < 0.91:
            return f"not {sub()}"
        if r < 0.93:
            return f"-{sub()}"
        if r < 0.95:
            count = self.random.randrange(1, 3)
            arguments = ", ".join(sub() for _ in range(count)) + ","
            return "'" + "".join(self.pick(FORMATS) for _ in range(count)) + f"' % ({arguments})"
        if r < 0.97:
            return "'{:" + self.pick(SPECS) + "}'.format(" + sub() + ")"
        return self.pick([f"range({self.pick(['3', '1, 4', '5, 0, -2', sub()])})", f"namespace(a={sub()}).a", f"dict(q={sub()})", f"m({sub()})", f"m({sub()}, y={sub()})",
                          "loop.index", "loop.last", "loop.previtem", "loop.length", f"loop.cycle({sub()}, {sub()})", "ns.v", "caller()", "varargs"])

    def text_expression(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.pick([self.string(), self.string(), "s", "u", "html", "lines", "messages[0].role", "messages[1]['content']", "n | string"])
        t, n, l = (lambda: self.text_expression(depth - 1)), (lambda: self.number_expression(depth - 1)), (lambda: self.list_expression(depth - 1))
        return self.pick([
            lambda: f"{t()} + {t()}", lambda: f"{t()} ~ {self.expression(depth - 1)}", lambda: f"({t()}) | {self.pick(TEXT_FILTERS)}", lambda: f"({t()}).{self.pick(TEXT_METHODS)}",
            lambda: f"({t()})[{self.slice()}]", lambda: f"({l()}) | join({t()})", lambda: f"({t()} if {self.expression(depth - 1)} else {t()})", lambda: f"({t()}) * {self.pick('012')}",
            lambda: f"({l()}) | tojson", lambda: f"({n()}) | string", lambda: f"({t()}).replace({t()}, {t()})", lambda: f"({t()}).strip({t()})", lambda: f"({l()}) | string",
            lambda: f"({t()}).split({self.string()} or 'q')[{self.pick(['0', '-1'])}]", lambda: f"({t()}) | replace({t()}, {t()})", lambda: f"({t()}) | default({t()}, true)"])()

    def number_expression(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.pick([self.number(), "n", "f", "neg", "l[0]", "loop.index0 | default(3)"])
        t, n, l = (lambda: self.text_expression(depth - 1)), (lambda: self.number_expression(depth - 1)), (lambda: self.list_expression(depth - 1))
        return self.pick([
            lambda: f"({n()} {self.pick('+-*')} {n()})", lambda: f"({n()} // ({n()} or 3))", lambda: f"({n()} % ({n()} or 2))", lambda: f"({n()} / ({n()} or 7))", lambda: f"({n()}) | round({self.pick(['', '1', '2', '0', '-1'])})",
            lambda: f"({t()}) | length", lambda: f"({l()}) | length", lambda: f"({n()}) | abs", lambda: f"({t()}) | int", lambda: f"({n()}) | int", lambda: f"({t()}) | float", lambda: f"-({n()})",
            lambda: f"({t()}).find({t()})", lambda: f"({t()}).count({t()})"])()

    def list_expression(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.pick(["l", "words", "[]", "['x', 'y']", "[1, 2.5]", "people", "messages", "range(3) | list", "nested", "(1, 2)", "d.keys() | list", "[none, true]"])
        t, n, l = (lambda: self.text_expression(depth - 1)), (lambda: self.number_expression(depth - 1)), (lambda: self.list_expression(depth - 1))
        return self.pick([
            lambda: f"[{t()}, {n()}]", lambda: f"({l()})[{self.slice()}]", lambda: f"({l()}) | {self.pick(LIST_FILTERS)}", lambda: f"({t()}).split()", lambda: f"({t()}).split({self.string()} or 'z')", lambda: f"({t()}) | list",
            lambda: f"({t()}).splitlines()", lambda: f"({l()}) | map({self.pick(['string', 'default', 'length', 'tojson', 'upper', 'first'])!r}) | list", lambda: f"({l()}) | select({self.pick(['defined', 'string', 'none', 'odd', 'mapping'])!r}) | list",
            lambda: f"[{t()}, {t()}] | sort", lambda: f"[{n()}, {n()}] | sort(reverse=true)", lambda: f"[{n()}, {n()}, {n()}] | unique | list", lambda: f"[{l()}, {l()}]", lambda: f"({l()} if {n()} else {l()})",
            lambda: f"[{{{self.string()}: {t()}, 'k': {n()}}}]", lambda: f"{{{t()}: {n()}, {t()}: {l()}}} | dictsort", lambda: f"{{{self.string()}: {n()}, 'z': {l()}}} | items | list"])()

    def typed_expression(self, depth):
        return self.pick([self.text_expression, self.number_expression, self.list_expression])(depth)

    def slice(self):
        part = lambda: self.pick(["", "1", "-1", "0", "2", "-2", "5"])
        return part() + ":" + part() + self.pick(["", "", ":" + self.pick(["1", "2", "-1", "-2"])])

    def tag(self, inside):
        return "{%" + self.pick(["", "", "-", "+"]) + " " + inside + " " + self.pick(["", "", "-", "+"]) + "%}"

    def text(self):
        return self.pick(["", "x", "\n", "  ", "\n  ", " text\n", "<|im_start|>", "\t", "\n\n", "é", "{", "}", "%", "a\n\tb", "#"])

    def body(self, depth, count=None):
        return "".join(self.text() + self.statement(depth) for _ in range(self.random.randrange(1, 4) if count is None else count)) + self.text()

    def statement(self, depth):
        r = self.random.random()
        e = lambda: (self.typed_expression if self.random.random() < 0.95 else self.expression)(self.random.randrange(1, 4))
        if depth <= 0 or r < 0.40:
            return "{{" + self.pick(["", "", "-"]) + " " + e() + " " + self.pick(["", "", "-"]) + "}}"
        b = lambda: self.body(depth - 1)
        if r < 0.52:
            target = self.pick(["x", "y", "x", "ns.v", "x, y", "l", "s", "n", "messages"])
            return self.tag(f"set {target} = {e()}")
        if r < 0.66:
            other = self.tag("else") + b() if self.random.random() < 0.4 else ""
            middle = self.tag(f"elif {e()}") + b() if self.random.random() < 0.3 else ""
            return self.tag(f"if {e()}") + b() + middle + other + self.tag("endif")
        if r < 0.84:
            target = self.pick(["x", "y", "x, y", "i", "message"])
            source = self.pick(["messages", "l", "words", "d", "d.items()", "people", "nested", "range(3)", "s", e()])
            test = f" if {e()}" if self.random.random() < 0.2 else ""
            other = self.tag("else") + b() if self.random.random() < 0.2 else ""
            jump = self.tag(f"if {e()}") + self.tag(self.pick(["break", "continue"])) + self.tag("endif") if self.random.random() < 0.15 else ""
            return self.tag(f"for {target} in {source}{test}") + b() + jump + b() + other + self.tag("endfor")
        if r < 0.88:
            return self.tag("set " + self.pick(["x", "y"])) + b() + self.tag("endset")
        if r < 0.92:
            return self.tag(f"macro m({self.pick(['', 'x', 'x, y=1', 'a=n'])})") + b() + self.tag("endmacro")
        if r < 0.94:
            return self.tag(f"call {self.pick(['', '(x)'])} m({e()})") + b() + self.tag("endcall")
        if r < 0.96:
            return self.tag(f"filter {self.pick(['upper', 'trim', 'replace(1, 2)', 'indent', 'length'])}") + b() + self.tag("endfilter")
        if r < 0.98:
            return self.tag(f"with x = {e()}") + b() + self.tag("endwith")
        return self.pick(["{# comment #}", "{#- c -#}", self.tag("raw") + "{{ raw }}" + self.tag("endraw"), self.tag("generation") + b() + self.tag("endgeneration")])

    def template(self):
        prologue = self.pick(["", "{% set ns = namespace(v=0) %}", "{% macro m(x, y=2) %}<{{ x }}{{ y }}>{% endmacro %}"])
        return prologue + self.body(self.random.randrange(4))


# What neither side promises: addresses, integers beyond 64 bits, complex numbers, filters Takt leaves out.
INCOMPARABLE = re.compile(r" at 0x[0-9a-f]{6,}|0x7f")
BIG = re.compile(r"(?<![\d.])\d{19,}(?![\d.])")
BOUNDS = ("does not fit 64 bits", "is complex", "not supported", "bytes", "steps", "too long", "too large", "nested deeper")


def excused(expected, actual):
    if "text" in expected and (INCOMPARABLE.search(expected["text"]) or BIG.search(expected["text"]) or "j)" in expected["text"]):
        return True
    error = actual.get("error", "")
    if any(bound in error for bound in BOUNDS):
        return True
    # jinja2 folds constants at compile time, where a slice of a number is merely undefined
    if "is not subscriptable" in error or "unhashable type: 'slice'" in error:
        return True
    # jinja2's own code generator: it folds to names that do not exist, or meets an unknown name in a set block's filter
    return expected.get("type") in ("NameError", "AssertionError", "RecursionError", "MemoryError", "OverflowError")


def main():
    try:
        from reference import render
    except ImportError:
        print("skipped: needs Python's jinja2")
        return 77
    from compare import Renderer, difference
    from constructs import DATA
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    renderer, generator, differ, rendered, excuses = Renderer(sys.argv[1]), Generator(seed), 0, 0, 0
    for _ in range(count):
        template = generator.template()
        expected, actual = render(template, DATA), renderer.render(template, DATA)
        rendered += "text" in expected
        reason = difference(expected, actual)
        if reason is None:
            continue
        if excused(expected, actual):
            excuses += 1
            continue
        differ += 1
        if differ <= 15:
            print(f"--- {reason}: {template!r}\n  python: {expected}\n  takt:   {actual.get('text', actual.get('error'))!r}")
    print(f"{count} templates, {rendered} render, {excuses} outside both sides' promises, {differ} differ")
    return 1 if differ else 0


sys.exit(main())
