#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exit_codes.py - every exit code of a program has a row in its manual page and stands in its --help.

The codes of a program are the enumerators of `enum ExitCode` in its header. Its manual page has an `.It` of the number,
and no other one, under EXIT STATUS; its --help has a text that begins with "Exit" and has the number. 0 need not be there.
The launcher's other sources have no such number. Scripts of contrib/ name the codes of `exit N` and `die N` in a line
that begins with "Exit". Prints a line for what is missing. Exit: 1 if something is."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# header, manual page, files with a --help
PROGRAMS = [
    ("launcher/common/exit_code.hpp", "docs/man/batchai-launch.1", ["launcher/root/options.cpp"]),
    ("cli/session.hpp", "docs/man/batchai.1", ["cli/command.cpp"]),
    ("spank/helper/exit_code.hpp", "docs/man/spank_batchai.8",
     ["spank/helper/command_line.cpp"]),
]
# script, files that it loads
SCRIPTS = [
    ("contrib/az/az", []),
    ("contrib/install-packages.sh", []),
    ("contrib/minislurm", ["contrib/minislurm.d/cluster.sh", "contrib/minislurm.d/commands.sh"]),
    ("contrib/quickstart.sh", []),
    ("contrib/wheel/build", ["contrib/wheel/dependencies"]),
]
SIGNAL = 128  # a code from here on stands for a signal: the row is 128+N


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def enumerators(text):
    body = re.search(r"enum ExitCode[^{]*\{(.*?)\};", text, re.S)
    return {int(number) for number in re.findall(r"\bk\w+ = (\d+)", body.group(1))} if body else set()


def rows(page):
    """The numbers of the rows under EXIT STATUS; 128 for 128+N."""
    section = re.search(r"^\.Sh EXIT STATUS\n(.*?)(?=^\.Sh |\Z)", page, re.S | re.M)
    return {int(number) for number in re.findall(r"^\.It (\d+)", section.group(1) if section else "", re.M)}


def help_numbers(source):
    """The numbers of each text that begins with "Exit"; string literals side by side are one text."""
    texts = [re.sub(r'"\s*"|\\n', " ", text) for text in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source)]
    found = [re.search(r"\bExit\b.*", text, re.S) for text in texts]
    return {int(number) for text in found if text for number in re.findall(r"\d+", text.group())}


def of_programs():
    for header, page, helps in PROGRAMS:
        codes, in_page = enumerators(read(header)), rows(read(page))
        if not codes:
            yield "%s: has no enum ExitCode" % header
        for code in sorted(codes - in_page - {0}):
            yield "%s: no row under EXIT STATUS for exit code %d of %s" % (page, code, header)
        for code in sorted(in_page - codes - {0}):
            yield "%s: a row for exit code %d, which %s does not have" % (page, code, header)
        for name in helps:
            for code in sorted(codes - help_numbers(read(name)) - {0}):
                yield "%s: --help does not explain exit code %d of %s" % (name, code, header)


def of_launcher():
    """Numbers in place of names."""
    for path in sorted((ROOT / "launcher").rglob("*.[ch]pp")):
        name = str(path.relative_to(ROOT))
        if name == PROGRAMS[0][0]:
            continue
        for number, line in enumerate(read(name).splitlines(), 1):
            code = re.sub(r'"(?:[^"\\]|\\.)*"|//.*', "", line)
            if re.search(r"\b12[3-7]\b|\b128 \+", code):
                yield "%s:%d: a number in place of a name of %s" % (name, number, PROGRAMS[0][0])


def of_scripts():
    for script, loaded in SCRIPTS:
        text = read(script)
        codes = {int(code) for each in [text] + [read(name) for name in loaded]
                 for code in re.findall(r"(?<![\w\\])(?:exit|die) (\d+)\b", each)}
        line = re.search(r"^# Exit.*(?:\n# .*)*|^Exit.*(?:\n(?!TEXT).+)*", text, re.M)
        named = {int(number) for number in re.findall(r"\d+", line.group())} if line else set()
        for code in sorted({min(code, SIGNAL) for code in codes} - named - {0}):
            yield "%s: no line 'Exit...' with exit code %d" % (script, code)


def main():
    wrong = [*of_programs(), *of_launcher(), *of_scripts()]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
