"""Finds functions in C++ by counting braces: rough, fast, and good enough."""
import re

# What may hide a brace: comments, literals, and preprocessor lines.
HIDING = re.compile(r'''
    //[^\n]* |
    /\*.*?\*/ |
    R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" |
    "(?:\\.|[^"\\\n])*" |
    '(?:\\.|[^'\\\n])' |
    ^[ \t]*\#(?:\\\n|[^\n])*
    ''', re.VERBOSE | re.DOTALL | re.MULTILINE)

# A brace after this opens what holds functions, not one of them.
SCOPE = re.compile(r"(?:template\s*<.*>\s*)?(?:inline\s+)?"
                   r"(?:namespace|class|struct|union)\b|extern\s*$", re.DOTALL)

# A brace after this is a value: `int x = {`, `: member_{`, `, member_{`.
VALUE = re.compile(r"=\s*$|[:,]\s*\w+\s*$")


def function_lengths(text):
    """Lists (line, lines) of each function: from its brace to the closing one."""
    text = HIDING.sub(blank, text)
    lengths = []
    open_braces = []  # (kind, offset) of each brace that is still open
    start = 0  # where the words before the next brace begin
    for match in re.finditer(r"[{};]", text):
        before = text[start:match.start()].strip()
        if match.group() == "{":
            kind = brace_kind(before, open_braces)
            open_braces.append((kind, match.start()))
            if kind == "value":
                continue
        elif match.group() == "}" and open_braces:
            kind, opened = open_braces.pop()
            if kind == "function":
                lengths.append((text.count("\n", 0, opened) + 1,
                                text.count("\n", opened, match.end()) + 1))
            # The words before a value still belong to what follows it.
            if kind == "value":
                continue
        elif inside_value(open_braces):
            continue
        start = match.end()
    return lengths


def blank(match):
    """Spaces of the same shape, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group())


def inside_value(open_braces):
    return bool(open_braces) and open_braces[-1][0] == "value"


def brace_kind(before, open_braces):
    if open_braces and open_braces[-1][0] != "scope":
        # Within a function every brace is a part of it.
        return "value" if inside_value(open_braces) else "block"
    if SCOPE.match(before):
        return "scope"
    if VALUE.search(before):
        return "value"
    return "function" if ")" in before else "block"
