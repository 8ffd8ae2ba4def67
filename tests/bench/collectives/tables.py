# SPDX-License-Identifier: Apache-2.0
"""Reads the tables that report.py prints, such as those in docs/benchmarks."""

import collections
import re

TITLE = re.compile(r"(\w+) ([\w-]+), microseconds a call(, ranks not bound to cores)?: the (fastest batch|mean)")
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}

# usec: by library, without those that failed. ahead: the best peer's time over ours, with its name; behind: by more
# than the noise. Both are None in a table without the library's own figures.
Row = collections.namedtuple("Row", "bytes bound usec ahead behind")
Table = collections.namedtuple("Table", "topology operation bound_to_cores batches rows")


def row_of(line, names, with_percentile):
    words = collections.deque(line.split())
    size = int(words.popleft()) * UNITS[words.popleft()]
    bound = words.popleft()
    usec = {}
    for name in names:
        word = words.popleft()
        if word == "failed":
            continue
        usec[name] = float(word)
        if name.startswith("batchai"):
            if words and words[0].endswith("%"):
                words.popleft()
            if with_percentile:
                words.popleft()
    verdict = re.search(r"([\d.]+) x ([\w.-]+)(: BEHIND)?$", line)
    return Row(size, None if bound == "-" else float(bound), usec, verdict and (float(verdict[1]), verdict[2]),
               verdict and bool(verdict[3]))


def read(name):
    """The tables of a file, in its order."""
    title = names = rows = None
    with open(name, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if match := TITLE.match(line):
                title, names, rows = match, None, []
            elif title and line.split()[:2] == ["bytes", "bound"]:
                names = line.split("  goal")[0].split()[2:]
            elif names and line:
                rows.append(row_of(line, names, title[4] == "mean"))
            elif names:
                yield Table(title[1], title[2], not title[3], title[4] == "fastest batch", rows)
                title = names = None
    if names:
        yield Table(title[1], title[2], not title[3], title[4] == "fastest batch", rows)
