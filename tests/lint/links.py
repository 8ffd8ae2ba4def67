#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links.py [PAGE.md]... - checks that what the pages of this checkout name is there.

Without a page it reads all that git knows or would add. It prints a line for each fault, and then exits with 1:
  - a relative link to a file or folder that is not there, or to a heading that its page does not have;
  - a file, folder or test in `backticks` (or in a block of code) that is not there. A name counts if it has a slash
    and begins with a folder of this repository or of tests/: `job/plan.hpp`, `cluster/launch`, `unit/python_buffers`.
    A test's name is exact; `peers/python_` stands for all that begin so;
  - `NAME.bats` that is nowhere in tests/, and a "title" after it that none of its tests has.
Addresses of other sites, absolute paths, and names with a placeholder in capitals are not looked at. CHANGELOG.md
names files of its time, so only its links count."""
import fnmatch
import glob
import os
import re
import subprocess
import sys

FENCE = re.compile(r"^ {0,3}(```|~~~)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$")
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")  # the text of a link in a heading
NAME = re.compile(r"[\w.*?{},-]+(?:/[\w.*?{},-]+)+/?$|[\w-]+/$")
# Commands that register a test, and what stands before the name that they are given.
CTEST = {"add_test": "", "batchai_python_test": "", "batchai_unit_test": "unit/"}
TITLED = re.compile(r"`(?:[\w./-]*/)?(\w+\.bats)`((?:, \"[^\"]+\")+)")


def git(*arguments):
    return subprocess.check_output(("git", "ls-files", "-z") + arguments).decode().split("\0")[:-1]


def lines_of(path):
    """Pairs of a line and whether it is in a block of code."""
    fenced = False
    with open(path, encoding="utf-8") as page:
        for line in page.read().splitlines():
            if FENCE.match(line):
                fenced = not fenced
                yield "", True
            else:
                yield line, fenced


def anchors(path):
    """What GitHub makes of a page's headings."""
    found = set()
    for line, fenced in lines_of(path):
        heading = None if fenced else HEADING.match(line)
        if not heading:
            continue
        text = re.sub(r"[^\w\- ]", "", LINKED.sub(r"\1", heading.group(1)).lower()).replace(" ", "-")
        number, anchor = 0, text
        while anchor in found:
            number += 1
            anchor = "%s-%d" % (text, number)
        found.add(anchor)
    return found


def braces(name):
    """The names that the shell makes of a{b,c}."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    return [each for part in match.group(1).split(",") for each in braces(name[: match.start()] + part + name[match.end() :])]


def registered(path):
    """The tests' names that a CMakeLists.txt gives to ctest on any machine."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"#.*|(?s:^function\(.*?^endfunction\(\))", "", file.read(), flags=re.M)
    loops = []  # (variable, values) of each foreach around a command
    for command, arguments in re.findall(r"(\w+)\(([^()]*)", text):
        words = arguments.split()
        if command == "foreach" and words[1:] == ["${files}"]:  # of the folder's cluster tests
            loops.append(("name", [os.path.splitext(os.path.basename(each))[0]
                                   for each in glob.glob(os.path.dirname(path) + "/*.bats")]))
        elif command == "foreach":
            loops.append((words[0], [word for word in words[1:] if word not in ("IN", "ITEMS")]))
        elif command == "endforeach":
            loops.pop()
        elif command in CTEST:
            names = [CTEST[command] + words[words[0] == "NAME"]]
            for variable, values in loops:
                names = [name.replace("${%s}" % variable, value) for name in names for value in values]
            yield from names


class Repository:
    def __init__(self):
        self.files = git("--cached", "--others", "--exclude-standard")
        self.folders = {path.split("/")[0] for path in self.files if "/" in path}
        self.tests = {path.split("/")[1] for path in self.files if path.count("/") > 1 and path.startswith("tests/")}
        self.bats = {os.path.basename(path): path for path in self.files if path.endswith(".bats")}
        self.paths = set(self.files)
        for path in self.files:
            while "/" in path:
                path = os.path.dirname(path)
                self.paths.add(path)
        self.ctest = {name for path in self.files if path.startswith("tests/") and path.endswith("CMakeLists.txt")
                      for name in registered(path)}

    def has(self, name):
        for each in braces(name):
            if glob.glob(each):
                continue
            known = glob.glob("tests/" + each) or fnmatch.filter(self.ctest, each + "*" * each.endswith("_"))
            if each.split("/")[0] not in self.tests or not known:
                return False
        return True

    def counts(self, name):
        """Whether it is the name of something in this repository."""
        parts = name.rstrip("/").split("/")
        if any(re.match(r"[A-Z_]+(\.\w+)?$", part) for part in parts) and not os.path.exists(name):
            return False
        return NAME.match(name) and parts[0] in self.folders | self.tests

    def has_title(self, bats, title):
        with open(self.bats[bats], encoding="utf-8") as file:
            return any(line.startswith("@test ") and title in line for line in file)


def faults(path, repository):
    for number, (line, fenced) in enumerate(lines_of(path), 1):
        place = "%s:%d: " % (path, number)
        block = fenced or line.startswith("    ")
        if not block:
            for target in LINK.findall(CODE.sub("", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                page = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
                if page not in repository.paths and page != ".":
                    yield place + "links to %s, which is not there" % target
                elif anchor and anchor not in anchors(page):
                    yield place + "links to %s: %s has no such heading" % (target, page)
        if path == "CHANGELOG.md":
            continue
        for code in [line] if block else CODE.findall(line):
            for word in code.split():
                name = re.sub(r"^(\./)+", "", word.strip("\"'();:,"))
                if repository.counts(name) and not repository.has(name):
                    yield place + "names %s, which is not there" % name
                if re.match(r"[\w./-]*\.bats$", name) and os.path.basename(name) not in repository.bats:
                    yield place + "names %s, which is not in tests/" % name
        for bats, titles in TITLED.findall(line):
            for title in re.findall('"([^"]+)"', titles):
                if bats in repository.bats and not repository.has_title(bats, title):
                    yield place + "names a test of %s that it does not have: %s" % (bats, title)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    named = [os.path.relpath(page, root) for page in sys.argv[1:]]
    os.chdir(root)
    repository = Repository()
    # A page that git still knows may have been removed.
    pages = named or [path for path in repository.files if path.endswith(".md") and os.path.exists(path)]
    missing = [page for page in pages if not os.path.exists(page)]
    if missing:
        sys.exit("links.py: no such page: %s" % ", ".join(missing))
    found = [fault for page in sorted(set(pages)) for fault in faults(page, repository)]
    print("\n".join(sorted(set(found))), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
