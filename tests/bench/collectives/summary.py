#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py FILE... - prints one Markdown table of the collectives in files that collectives.sh has written.

A cell is about the fastest batch of ranks that are bound to cores: the part of the bound that ours reaches, and the best
peer's time divided by ours. The last lines count the sizes at which ours is more than 5 % behind the best peer."""

import argparse
import sys

import report
import tables


def cell(row):
    ahead = f"{row.ahead[0]:.2f}" if row.ahead else "-"
    part = f"{row.bound / row.usec['batchai']:.0%}".replace("%", " %") if row.bound else "-"
    return f"{part}, **{ahead}**" if row.behind else f"{part}, {ahead}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    columns, counts = {}, {}
    for name in parser.parse_args().files:
        try:
            for table in tables.read(name):
                key = (table.topology, table.operation)
                if table.batches:
                    columns[key] = {row.bytes: cell(row) for row in table.rows}
                kind = ("the fastest batch" if table.batches else
                        "the mean" if table.bound_to_cores else "the mean, not bound to cores")
                counts.setdefault(kind, {})[key] = f"{sum(bool(row.behind) for row in table.rows)} of {len(table.rows)}"
        except (OSError, ValueError, IndexError, KeyError) as error:
            sys.exit(f"summary.py: {name}: {error}")
    lines = [(report.size_text(size), [column.get(size, "") for column in columns.values()])
             for size in sorted({size for column in columns.values() for size in column})]
    lines += [("behind, " + kind, [count.get(key, "") for key in columns]) for kind, count in counts.items()]
    print("| | " + " | ".join(" ".join(key) for key in columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for head, cells in lines:
        print(f"| {head} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
