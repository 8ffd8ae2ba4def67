# SPDX-License-Identifier: Apache-2.0
"""What the planner expects of many nodes, and how far it is off where it was measured.

scale.py MODEL [ROWS]: MODEL is the program of model.cpp, ROWS a file that collectives.sh --json has written."""

import json
import math
import subprocess
import sys

NODES = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
LINKS = [("10 Gbit/s", 20, 3, 1.25), ("100 Gbit/s", 3, 0.5, 12.5), ("400 Gbit/s", 2, 0.3, 50)]  # name, us, us, GB/s
RANKS = [4, 8]
BYTES = [64 << 10, 1 << 20, 64 << 20, 512 << 20]
SHORT = {"recursive-doubling": "rd", "halving-doubling": "hd", "direct": "di"}
OVERHEAD = 3  # us, as ranks measure it here
MEASURED = [("2x2", 2, 2), ("2x4", 2, 4), ("4x2", 4, 2)]


def model(program, nodes, rails, latency, overhead, rate, sizes):
    """By size: (microseconds, algorithm)."""
    command = [program, *map(str, [nodes, rails, latency, overhead, rate, *sizes])]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(sizes):
        sys.exit(f"collectives_scale.sh: {' '.join(command)}: exit code {done.returncode}, {len(lines)} figures")
    return {int(size): (float(usec), name) for size, usec, name in map(str.split, lines)}


def many_nodes(program):
    for name, latency, overhead, rate in LINKS:
        tables = {}  # the lines: for how many ranks a node they hold
        for ranks in RANKS:
            lines = []
            for nodes in NODES:
                found = model(program, nodes, ranks, latency, overhead, rate, BYTES)
                lines.append(f"{nodes:8}" + "".join(f"{usec / 1000:11.3f} {SHORT[algorithm]}"
                                                    for usec, algorithm in found.values()))
            tables.setdefault("\n".join(lines), []).append(str(ranks))
        for lines, ranks in tables.items():
            print(f"\n{name}, {latency} us, {overhead} us a message, {' or '.join(ranks)} ranks a node, ms: not measured")
            print("   nodes" + "".join(f"{size >> 10:>10} KiB" for size in BYTES))
            print(lines)


def measured(program, path):
    """Latency and rate of the links are those of the bounds that the rows were set beside."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in json.load(file) if row["library"] == "batchai"
                and row["operation"] == "allreduce" and row["usec"]]
    print("\nthe same where it was measured, links of 1 Gbit/s, ms")
    for topology, nodes, ranks in MEASURED:
        of = {row["bytes"]: row for row in rows if row["topology"] == topology}
        if not of:
            continue
        bounds = {size: row["usec"] * row["bound_fraction"] for size, row in of.items()}
        most, least = max(of), min(of)
        rate = 2 * (nodes - 1) / nodes * most / bounds[most] / 1000
        latency = bounds[least] / math.ceil(math.log2(nodes))
        sizes = [size for size in (1 << 20, 4 << 20, 16 << 20, 64 << 20) if size in of]
        for size, (usec, _) in model(program, nodes, ranks, latency, OVERHEAD, rate, sizes).items():
            took = of[size]["usec"]
            print(f"  {topology}, {size >> 20:3} MiB: {usec / 1000:9.2f}, measured {took / 1000:9.2f}: "
                  f"{(usec / took - 1) * 100:+.0f} %")


if __name__ == "__main__":
    many_nodes(sys.argv[1])
    if len(sys.argv) > 2:
        measured(sys.argv[1], sys.argv[2])
