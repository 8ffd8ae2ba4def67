#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failures.py [--check | --list] - writes docs/failures.md from the messages in spank/, launcher/, cli/, slurm/,
job/launch_options.cpp, sys/subprocess.cpp and sys/user_path.cpp, and from docs/failures.in.

What a message is: the text of an expression in a source file that has three words or more. String literals that stand side by
side or are added with '+' are one text. Each placeholder ({}, %s) and each other part of the expression becomes "…".
'?', ':', ',' and ';' end a text. Not read: comments, preprocessor lines, raw strings, and arguments of the calls in NOT_PRINTED.

docs/failures.in has entries in sections. An entry is
    KEY            a part of the message that is unlikely to change; '*' inside it stands for any text. Several lines:
                   any of them
    @FILE-GLOB     the keys below it count for these files only
    = TEXT         shown in the table instead of the messages (optional)
      CAUSE        indented
      CURE         indented. An entry with one indented line, "- WHY", says that its texts are not in the table
The first entry that matches a message counts.

--check: exit 1 if a message has no entry, an entry has no message, a key begins or ends with '*', or docs/failures.md is not what this program writes.
--list: the messages, with their places.
"""
import argparse
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("spank", "launcher", "cli", "slurm", "job/launch_options.cpp", "sys/subprocess.cpp", "sys/user_path.cpp")
ENTRIES = ROOT / "docs/failures.in"
PAGE = ROOT / "docs/failures.md"

# Help texts, texts that are compared and not printed, SQL, and programs with their arguments.
NOT_PRINTED = set("""App add_arm_name add_choice add_directory add_end_verb add_flag add_flag_callback add_node_verbs add_noun add_option add_path
    add_sbatch_option add_subcommand add_target add_verb app argument confirmed description end_jobs find flag footer group kMigrations
    noun option prepare set_version_flag sscanf starts_with""".split())

TOKEN = re.compile(r'''(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
    |R"(?P<tag>[^(\s]*)\((?P<raw>.*?)\)(?P=tag)" | "(?P<text>(?:[^"\\\n]|\\.)*)" | '(?:[^'\\\n]|\\.)+'
    |(?P<word>[A-Za-z_]\w*) | [0-9][\w.']* | :: | (?P<sign>\S)''', re.X | re.S | re.M)

HEAD = """<!-- Made by tests/lint/failures.py from docs/failures.in and the sources. Change those, and run it. -->
# Failures: message, cause, cure

Messages of the plugin, its helper programs, `batchai-launch` and `batchai`. `…` stands for a name, a number or another
message that gives the reason. The prefixes `batchai:`, `batchai-launch:` and the node's name are left out.

A mistake in a job file or in the site policy has its own line, with file, line and column:
`batchai job check FILE` and `batchai admin check` print them ([batch-ai.md](batch-ai.md), batchai.toml(5)).
Findings of `batchai admin check` and `doctor` carry their cure themselves, and are not here.
The [admin guide](admin-guide.md) says where each program logs.
"""


def texts(source):
    """The text of each expression: (position, name before its bracket, text)."""
    found, frames, name = [], [], ""
    position, text, caller = None, "", ""

    def end():
        if position is not None:
            found.append((position, caller, text))

    for token in TOKEN.finditer(source):
        sign, word = token["sign"] or "", token["word"] or ""
        if token["skip"] is not None or token["raw"] is not None:
            continue
        if token["text"] is not None:
            position = token.start() if position is None else position
            text += token["text"]
        elif sign and sign in "({[":
            frames.append((position, text, caller))
            position, text, caller = None, "", name
        elif sign and sign in ")}]":
            end()
            position, text, caller = frames.pop() if frames else (None, "", "")
            text = text.rstrip("…") + "…"
        elif (sign and sign in ",;?:") or word == "return":
            end()
            position, text = None, ""
        elif sign != "+":
            text = text.rstrip("…") + "…"
        name = word or ("" if sign and sign in ",;=?:&|" else name)
    return found


def messages():
    """Each message: (file, line, text), in the order of the sources."""
    for name in SOURCES:
        for path in sorted((ROOT / name).rglob("*.[ch]pp")) or [ROOT / name]:
            source = path.read_text()
            for position, caller, text in sorted(texts(source)):
                text = re.sub(r'%[-.0-9*]*l?[a-z]|\{[^{}\n ]*\}', "…", text)
                text = re.sub(r'\\n|\\"', lambda escape: '"' if escape[0] == '\\"' else " ", text)
                text = re.sub(r"…[…]+", "…", text).strip(" ")
                words = re.findall(r"(?<![\w/$.-])[A-Za-z][a-z']*(?![\w/(])", text)
                if len(words) >= 3 and caller not in NOT_PRINTED:
                    yield str(path.relative_to(ROOT)), source.count("\n", 0, position) + 1, text


class Entry:
    def __init__(self, line):
        self.line, self.glob, self.keys, self.shown, self.words, self.texts = line, "*", [], "", [], []

    def add(self, line):
        if line.startswith("@"):
            self.glob = line[1:]
        elif line.startswith("= "):
            self.shown = line[2:]
        else:
            self.keys.append((self.glob, line))

    def covers(self, file, text):
        return any(fnmatch.fnmatchcase(file, glob) and re.search(".*".join(map(re.escape, key.split("*"))), text)
                   for glob, key in self.keys)


def entries():
    """The sections of docs/failures.in: (heading, its entries)."""
    sections, entry = [], None
    for number, line in enumerate(ENTRIES.read_text().splitlines(), 1):
        if not line or (line.startswith("#") and not line.startswith("## ")):
            continue
        if line.startswith("## "):
            sections.append((line, []))
            entry = None
        elif line.startswith(" "):
            entry.words.append(line.strip())
        else:
            if entry is None or entry.words:
                entry = Entry(number)
                sections[-1][1].append(entry)
            entry.add(line)
    return sections


def cell(text):
    """As code, without the program's name and without placeholders and marks before the first word."""
    text = re.sub(r"^(batchai(-\w+)?: |…: |…[.;]? ?(?=[A-Z])|…(?=\w)|…?[.,;:] )+", "", text)
    return "`" + text.replace("|", "\\|") + "`"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--list", action="store_true")
    options = arguments.parse_args()
    sections, wrong = entries(), []
    for file, line, text in messages():
        if options.list:
            print(f"{file}:{line}: {text}")
            continue
        found = [entry for _, group in sections for entry in group if entry.covers(file, text)]
        if not found:
            wrong.append(f"{file}:{line}: no entry in docs/failures.in: {text}")
        elif text not in found[0].texts:
            found[0].texts.append(text)
    if options.list:
        return 0
    page = HEAD
    for heading, group in sections:
        rows = []
        for entry in group:
            wrong += [f"docs/failures.in:{entry.line}: '{key}' accepts any new message: name the message's words"
                      for _, key in entry.keys if key.startswith("*") or key.endswith("*")]
            if not entry.texts:
                wrong.append(f"docs/failures.in:{entry.line}: no message in the sources: {entry.keys}")
            if len(entry.words) == 2:
                rows.append("| " + "<br>".join(dict.fromkeys(map(cell, [entry.shown] if entry.shown else entry.texts))) + " | " + " | ".join(entry.words) + " |\n")
            elif not (len(entry.words) == 1 and entry.words[0].startswith("- ")):
                wrong.append(f"docs/failures.in:{entry.line}: expected a cause and a cure, or '- WHY'")
        if rows:
            page += f"\n{heading}\n\n| message | cause | cure |\n|---|---|---|\n" + "".join(rows)
    if not options.check:
        PAGE.write_text(page)
    elif not wrong and (not PAGE.exists() or PAGE.read_text() != page):
        wrong.append("docs/failures.md is out of date: run tests/lint/failures.py")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
