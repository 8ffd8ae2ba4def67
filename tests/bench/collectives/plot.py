#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot.py FILE... - prints an SVG of the allreduces in files that collectives.sh has written.

A panel for each topology: for each size, how many times its bound the fastest batch of each library takes, both axes
logarithmic."""

import argparse
import math
import sys

import bounds
import report
import tables

COLORS = {"batchai": "#1d4ed8", "batchai-plain": "#60a5fa", "batchai-ucx1.22": "#0ea5e9", "openmpi-ob1": "#b45309",
          "openmpi-ob1-sm": "#f59e0b", "openmpi-ob1-han": "#f59e0b", "openmpi-ucx": "#15803d", "openmpi-ucx-han": "#84cc16",
          "openmpi5": "#713f12", "openmpi5-ucx": "#14532d", "mpich": "#86198f", "mpich5": "#d946ef", "impi": "#0f766e",
          "gloo": "#475569", "gloo-bcube": "#94a3b8", "torch": "#dc2626", "torch2.15": "#fb7185"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 250, 60, 50, 90
NAMES = 5  # in a line of the legend


class Panel:
    """One topology, at a place in the picture."""

    def __init__(self, topology, rows, x, y):
        self.topology, self.x, self.y = bounds.Topology(topology), x, y
        self.sizes = [row.bytes for row in rows]
        lines = {name: [(row.bytes, row.usec[name] / row.bound) for row in rows if name in row.usec and row.bound] for name in COLORS}
        self.lines = {name: line for name, line in lines.items() if line}
        ratios = [ratio for line in self.lines.values() for _, ratio in line] or [1.0]
        self.least = min(0, math.floor(math.log10(min(ratios))))
        self.most = max(1, math.ceil(math.log10(max(ratios))))

    def across(self, size):
        first, last = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return self.x + WIDTH * (math.log2(size) - first) / max(1, last - first)

    def up(self, ratio):
        return self.y + HEIGHT * (self.most - math.log10(ratio)) / (self.most - self.least)

    def draw(self):
        title = f"{self.topology.name}: {self.topology.text()}"
        yield f'<text class="head" x="{self.x}" y="{self.y - 14}">{title}</text>'
        for power in range(self.least, self.most + 1):
            y = self.up(10 ** power)
            kind = "bound" if power == 0 else "grid"
            yield f'<path class="{kind}" d="M{self.x} {y:.1f} h{WIDTH}"/>'
            yield f'<text class="small" text-anchor="end" x="{self.x - 6}" y="{y + 4:.1f}">{10 ** power:g} x</text>'
        for size in self.sizes[::2]:
            x = self.across(size)
            yield f'<path class="grid" d="M{x:.1f} {self.y} v{HEIGHT}"/>'
            yield f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{self.y + HEIGHT + 16}">{report.size_text(size)}</text>'
        for name, line in reversed(self.lines.items()):  # ours is drawn last
            places = [f"{self.across(size):.1f},{self.up(ratio):.1f}" for size, ratio in line]
            wide = 3 if name == "batchai" else 1.5
            yield f'<polyline fill="none" stroke="{COLORS[name]}" stroke-width="{wide}" points="{" ".join(places)}"/>'


def legend(names, y):
    for index, name in enumerate(names):
        x, line = LEFT + index % NAMES * 170, y + index // NAMES * 20
        yield f'<path stroke="{COLORS[name]}" stroke-width="3" d="M{x} {line - 4} h24"/><text x="{x + 30}" y="{line}">{name}</text>'


def draw(panels):
    width = LEFT + 2 * (WIDTH + GAP)
    bottom = TOP + math.ceil(len(panels) / 2) * (HEIGHT + GAP)
    parts, names = [], set()
    for index, (topology, rows) in enumerate(panels.items()):
        panel = Panel(topology, rows, LEFT + index % 2 * (WIDTH + GAP), TOP + index // 2 * (HEIGHT + GAP))
        parts += panel.draw()
        names |= panel.lines.keys()
    parts += legend([name for name in COLORS if name in names], bottom)
    height = bottom + math.ceil(len(names) / NAMES) * 20 + 20
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="14">
  <title>Allreduce of float32 sums: time in units of the bound, by bytes of each rank</title>
  <style>
    .head {{ font-weight: bold }} .small {{ font-size: 11px; fill: #334155 }}
    .grid {{ stroke: #e2e8f0; fill: none }} .bound {{ stroke: #475569; stroke-dasharray: 5 4; fill: none }}
  </style>
  <rect width="{width}" height="{height}" fill="#ffffff"/>
""" + "".join(f"  {part}\n" for part in parts) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(" - ")[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    panels = {}
    for name in parser.parse_args().files:
        try:
            panels.update((table.topology, table.rows) for table in tables.read(name)
                          if table.operation == "allreduce" and table.batches)
        except (OSError, ValueError, IndexError, KeyError) as error:
            sys.exit(f"plot.py: {name}: {error}")
    print(draw(panels), end="")


if __name__ == "__main__":
    main()
