"""Finds the functions of a C++ file and their lengths, well enough for a length rule: no preprocessor, no types.

Works on text whose comments, literals and preprocessor lines are blanked out. A `{` opens a function when it stands
outside every function and what precedes it since the last `;`, `{` or `}` has a parameter list and is no namespace,
type or initialiser. Lambdas and local classes count as part of the function around them.
"""
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)


@dataclass(frozen=True)
class Function:
    name: str
    line: int        # of its first character, template and return type included
    line_count: int  # up to and with its closing brace


def blank(match):
    """Spaces of the same shape; a literal keeps one quote so that it still is an operand."""
    text = match.group(0)
    spaces = re.sub(r"[^\n]", " ", text)
    return spaces if text.startswith("/") else '"' + spaces[1:]


def code_only(text):
    """The text with comments and literals blanked; every line keeps its number and every column its place."""
    return TOKEN.sub(blank, text)


def without_directives(code):
    return DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), code)


def kind_of_brace(head, before, parens):
    """What a `{` outside every function opens, from the text since the last `;`, `{` or `}`."""
    plain = re.sub(r"\balignas\s*\([^()]*\)|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)", " ", head, flags=re.S).strip()
    if parens > 0 or plain.endswith(("=", ",", "(", "return")):
        return "initialiser"
    if re.search(r"\bnamespace\b", plain) or re.fullmatch(r'extern\s*"\s*', plain):
        return "scope"
    if re.search(r"\b(class|struct|union|enum)\b", re.sub(r"<[^{};]*?>", " ", plain)) and "(" not in plain:
        return "scope"
    if "(" not in plain:
        return "initialiser"
    is_member_initialiser = re.search(r"\)[^;]*[^:]:[^:]", plain) and (before.isalnum() or before in "_>")
    return "initialiser" if is_member_initialiser else "function"


def name_of(head):
    head = re.sub(r"\btemplate\s*<[^(]*?>\s*(?=\S)", " ", head, flags=re.S)
    test = re.match(r"\s*((?:TYPED_)?TEST(?:_F|_P)?)\s*\(([^)]*)\)", head)
    if test:
        return re.sub(r"\s+", " ", f"{test.group(1)}({test.group(2)})")
    found = re.search(r"([\w:~]*operator\s*[^\s\w(]+|[\w:~]*operator\s*\(\)|[\w:~]+(?:<[^()<>]*>::[\w:~]+)*)\s*\(", head)
    return found.group(1) if found else "?"


def functions_of(text):
    """All functions defined in a file, in order."""
    code = without_directives(code_only(text))
    found, scopes, head_begin, parens, line = [], [], 0, 0, 1
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char in "()" and not is_inside_function(scopes):
            parens = max(0, parens + (1 if char == "(" else -1))
        elif char == "{":
            head = code[head_begin:at]
            kind = "block" if is_inside_function(scopes) else kind_of_brace(head, code[at - 1:at], parens)
            scopes.append((kind, head, head_begin, parens))
            if kind not in ("initialiser", "block"):
                head_begin, parens = at + 1, 0
        elif char == "}" and scopes:
            kind, head, begin, parens = scopes.pop()
            if kind == "function":
                found.append(function_from(code, head, begin, line))
            if kind not in ("initialiser", "block"):
                head_begin, parens = at + 1, 0
        elif char == ";" and not is_inside_function(scopes) and parens == 0:
            head_begin = at + 1
    return found


def is_inside_function(scopes):
    return any(scope[0] == "function" for scope in scopes)


def function_from(code, head, begin, last_line):
    skipped = re.match(r"(?:\s|\b(?:public|private|protected)\s*:)*", head).end()
    first_line = code.count("\n", 0, begin + skipped) + 1
    return Function(name_of(head[skipped:]), first_line, last_line - first_line + 1)
