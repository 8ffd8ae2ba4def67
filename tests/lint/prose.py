# SPDX-License-Identifier: Apache-2.0
"""prose.py [--plain] FILE... - what every text of this project keeps to.

In Markdown, prose lines have at most 120 characters; tables, code and what cannot be broken may be
longer. In Markdown and manuals, phrases that readers stumbled over do not come back: PHRASES says
what to write instead. In sources the same holds for messages, which are string literals, for comments and for
docstrings; in tests and scripts for comments, docstrings and titles of tests.
Prints FILE:LINE: what is wrong. Exits with 1 if something is.

--plain: prints the sentences of Markdown, manuals, docstrings and comments for diction(1), without code, tables and
macros. Lines stay lines.
"""
import ast
import functools
import itertools
import re
import sys

WIDTH = 120

# A regular expression, and what to write instead.
PHRASES = [
    (r"\bbut for\b", "except"),
    # The account of that name is "user nobody", or in backticks.
    (r"(?<!user )(?<!uid )(?<!as )(?<!of )\bnobody('s)?\b", "the rank, the agent, the user: the noun"),
    (r"\bsomebody('s)?\b", "the rank, the agent, the user: the noun"),
    (r"(?<!there )\bis no (number|file|directory|name|integer|job|path|word|user)\b", "is not a ..."),
    (r"\bthe begin of\b", "the start of"),
    (r"\bfor who\b", "for the program that"),
    (r"\bwithout a word\b", "without a message"),
    (r"\bthat is no\b(?! (longer|more|other))", "that is not a ..."),
    (r"\bwhere there (is|are) (one|any|none)\b", "if there is one, if there is none"),
    (r"\bas is\b(?! (the|a))", "unchanged"),
    # "a" before a vowel that is spoken as one.
    (r"\ba (?=[aeio])(?!(and|one|once)\b|eu)[a-z]{3,}", "an ..."),
]
PHRASES = [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in PHRASES]

COMMENT = re.compile(r"(?:^|\s)(?://|#) (.*)")
LITERAL = re.compile(r"""'(?:[^'\\\n]|\\.)'|"((?:[^"\\\n]|\\.)*)\"""")
# What a line of Markdown may have instead of prose: code, a table, a heading, HTML, a link alone.
NO_PROSE = re.compile(r" {4}|\s*(\||#|<|!\[|\[[^\]]*\]: )")


def stumbles(text):
    for pattern, better in PHRASES:
        found = pattern.search(text)
        if found:
            yield '"%s": write %s' % (found.group(), better)


def of_markdown(lines):
    """(number, what is wrong) of each line."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        if fenced:
            continue
        for wrong in stumbles(re.sub(r"`[^`]*`", "", line)):
            yield number, wrong
        breakable = " " in re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "", line).strip()[:WIDTH]
        if len(line) > WIDTH and breakable and not NO_PROSE.match(line):
            yield number, "%d characters, more than %d" % (len(line), WIDTH)


def of_manual(lines):
    for number, line in enumerate(lines, 1):
        if not line.startswith('.\\"'):
            for wrong in stumbles(line):
                yield number, wrong


def of_source(lines, with_literals=True):
    for number, line in enumerate(lines, 1):
        comment = COMMENT.search(LITERAL.sub('""', line))
        for text in (LITERAL.findall(line) if with_literals else []) + ([comment.group(1)] if comment else []):
            for wrong in stumbles(text):
                yield number, wrong


def docstrings(lines):
    """(number, text) of each of their lines."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            for number in range(first.lineno, first.end_lineno + 1):
                yield number, re.sub(r"`[^`]*`", "", lines[number - 1])


def of_python(lines, with_literals=True):
    for number, text in docstrings(lines):
        for wrong in stumbles(text):
            yield number, wrong
    yield from of_source(lines, with_literals)


def of_script(lines):
    for number, line in enumerate(lines, 1):
        if line.startswith("@test "):
            for wrong in stumbles(line):
                yield number, wrong
    yield from of_source(lines, with_literals=False)


def kind_of(name):
    if name.endswith(".md"):
        return of_markdown
    if "/man/" in name:
        return of_manual
    # Tests expect the words of other programs, too.
    if name.startswith("tests/") or re.search(r"\.(bats|bash|sh)$", name):
        return functools.partial(of_python, with_literals=False) if name.endswith(".py") else of_script
    return of_python if name.endswith(".py") else of_source


def plain_line(name, line, others=itertools.product("bcdfghjklmnpqrstvwxz", repeat=4)):
    """Code, and words with digits or signs, become words that occur once: diction reports a word that follows itself."""
    if "/man/" in name:
        if re.match(r"\.(Sh|Ss|It|Pp|Bd|Ed|Bl|El)\b", line):
            return "."
        line = re.sub(r"^\..*", "`macro`", line)
    elif NO_PROSE.match(line):
        return ""
    line = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).replace("**", "")
    return re.sub(r"`[^`]*`|[^\s(]*[\d/%*][^\s),;:.]*", lambda _: "".join(next(others)), line)


def print_plain(name, lines):
    print('#line 1 "%s"' % name)
    fenced = False
    for line in lines:
        fence = re.match(r"\s*(```|~~~)|\.(Bd|Ed)\b", line)
        fenced = fenced != bool(fence)
        print("" if fenced or fence else plain_line(name, line))


def main(names):
    bad, plain = False, names[:1] == ["--plain"]
    if plain:
        names = names[1:]
    for name in names:
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if plain:
            print_plain(name, lines)
            continue
        for number, wrong in sorted(set(kind_of(name)(lines))):
            bad = True
            print("%s:%d: %s" % (name, number, wrong))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
