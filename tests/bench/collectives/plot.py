# SPDX-License-Identifier: Apache-2.0
"""An SVG of the allreduces of all topologies: for each size, how many times its bound the fastest batch of each library
takes, both axes logarithmic."""

import math

import report

COLORS = {"batchai": "#1d4ed8", "batchai-plain": "#60a5fa", "batchai-ucx1.22": "#0ea5e9", "openmpi-ob1": "#b45309",
          "openmpi-ob1-sm": "#f59e0b", "openmpi-ob1-han": "#f59e0b", "openmpi-ucx": "#15803d", "openmpi-ucx-han": "#84cc16",
          "openmpi5": "#713f12", "openmpi5-ucx": "#14532d", "mpich": "#86198f", "mpich5": "#d946ef", "impi": "#0f766e",
          "gloo": "#475569", "gloo-bcube": "#94a3b8", "torch": "#dc2626", "torch2.15": "#fb7185"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 250, 60, 50, 90


class Panel:
    """One topology, at a place in the picture."""

    def __init__(self, result, x, y):
        self.result, self.x, self.y = result, x, y
        self.lines = {name: self.points(name) for name in result.names}
        ratios = [ratio for line in self.lines.values() for _, ratio in line] or [1.0]
        self.least = min(0, math.floor(math.log10(min(ratios))))
        self.most = max(1, math.ceil(math.log10(max(ratios))))

    def points(self, name):
        """(size, times the bound), where there is a figure."""
        parts = [(size, report.fraction(self.result, size, self.result.figures[name, size].usec))
                 for size in self.result.sizes]
        return [(size, 1 / part) for size, part in parts if part]

    def across(self, size):
        first, last = math.log2(self.result.sizes[0]), math.log2(self.result.sizes[-1])
        return self.x + WIDTH * (math.log2(size) - first) / max(1, last - first)

    def up(self, ratio):
        return self.y + HEIGHT * (self.most - math.log10(ratio)) / (self.most - self.least)

    def draw(self):
        topology, sizes = self.result.topology, self.result.sizes
        yield f'<text class="head" x="{self.x}" y="{self.y - 14}">{topology.name}: {topology.text()}</text>'
        for power in range(self.least, self.most + 1):
            y = self.up(10 ** power)
            kind = "bound" if power == 0 else "grid"
            yield f'<path class="{kind}" d="M{self.x} {y:.1f} h{WIDTH}"/>'
            yield f'<text class="small" text-anchor="end" x="{self.x - 6}" y="{y + 4:.1f}">{10 ** power:g} x</text>'
        for size in sizes[::2]:
            x = self.across(size)
            yield f'<path class="grid" d="M{x:.1f} {self.y} v{HEIGHT}"/>'
            yield f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{self.y + HEIGHT + 16}">{report.size_text(size)}</text>'
        for name, line in reversed(self.lines.items()):  # ours is drawn last
            places = [f"{self.across(size):.1f},{self.up(ratio):.1f}" for size, ratio in line]
            wide = 3 if name == "batchai" else 1.5
            yield f'<polyline fill="none" stroke="{COLORS[name]}" stroke-width="{wide}" points="{" ".join(places)}"/>'


def legend(names, y):
    for index, name in enumerate(names):
        x, line = LEFT + index % 5 * 170, y + index // 5 * 20
        yield f'<path stroke="{COLORS[name]}" stroke-width="3" d="M{x} {line - 4} h24"/><text x="{x + 30}" y="{line}">{name}</text>'


def draw(measurements):
    results = [result for measured in measurements for result in measured.results
               if result.operation == "allreduce" and result.bind == "core"]
    names = [name for name in COLORS if any(name in result.names for result in results)]
    lines = math.ceil(len(results) / 2)
    width = LEFT + 2 * (WIDTH + GAP)
    bottom = TOP + lines * (HEIGHT + GAP)
    parts = []
    for index, result in enumerate(results):
        parts += Panel(result, LEFT + index % 2 * (WIDTH + GAP), TOP + index // 2 * (HEIGHT + GAP)).draw()
    parts += legend(names, bottom)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 40}" font-family="Helvetica, Arial, sans-serif" font-size="14">
  <title>Allreduce of float32 sums: time in units of the bound, by bytes of each rank</title>
  <style>
    .head {{ font-weight: bold }} .small {{ font-size: 11px; fill: #334155 }}
    .grid {{ stroke: #e2e8f0; fill: none }} .bound {{ stroke: #475569; stroke-dasharray: 5 4; fill: none }}
  </style>
  <rect width="{width}" height="{bottom + 40}" fill="#ffffff"/>
""" + "".join(f"  {part}\n" for part in parts) + "</svg>\n"
