# SPDX-License-Identifier: Apache-2.0
"""Topologies, what the roofline programs print, and the time below which no allreduce can be (docs/benchmarks.md)."""

import math


class Topology:
    def __init__(self, name):
        self.name = name
        self.nodes, self.each = (int(word) for word in name.split("x"))
        self.ranks = self.nodes * self.each

    @property
    def shaped(self):
        """Two nodes of one rank are there for their latency, which a shaped link would hide."""
        return self.nodes > 1 and self.ranks > 2

    def text(self):
        ranks = f"{self.each} ranks" if self.each > 1 else "1 rank"
        if self.nodes == 1:
            return f"{ranks} on one node"
        return f"{self.nodes} nodes of {ranks}, links " + ("of 1 Gbit/s" if self.shaped else "as fast as the processor")


class Roofline:
    """The best figures of several runs of roofline.cpp, in microseconds and GB/s."""

    def __init__(self):
        self.copies, self.exchanges, self.one = {}, {}, {}

    def add(self, output):
        everybody = []
        for line in output.splitlines():
            words = line.split()
            if words[0] in ("copy", "exchange"):
                known = self.copies if words[0] == "copy" else self.exchanges
                size, took = int(words[1]), float(words[2])
                known[size] = min(took, known.get(size, took))
            elif words[0] == "tcp_all":
                everybody.append(float(words[1]))
            elif words[0] == "tcp_one":
                self.one["tcp_one"] = max(float(words[1]), self.one.get("tcp_one", 0.0))
            elif words[0] in ("flag", "ucx", "ucx_median"):
                self.one[words[0]] = min(float(words[1]), self.one.get(words[0], math.inf))
        if everybody:
            self.one["tcp_all"] = max(min(everybody), self.one.get("tcp_all", 0.0))

    def bound(self, topology, size):
        """Microseconds; nothing where the roofline could not be measured."""
        if topology.nodes == 1:
            parts = [self.one.get("flag"), self.copies.get(size)]
        else:
            nodes = topology.nodes
            latency, goodput = self.one.get("ucx"), self.one.get("tcp_all")
            parts = [latency and math.ceil(math.log2(nodes)) * latency]
            if topology.shaped:
                parts.append(goodput and 2 * (nodes - 1) / nodes * size / goodput / 1000)
            else:
                parts.append(self.exchanges.get(size))
        parts = [part for part in parts if part]
        return max(parts) if parts else None

    def text(self, topology):
        said = []
        if topology.nodes == 1:
            if "flag" in self.one:
                said.append(f"a flag to the other core: {self.one['flag'] * 1000:.0f} ns")
            if self.copies:
                size = max(self.copies)
                moved = 2 * topology.each * size / self.copies[size] / 1000
                said.append(f"copies of {size >> 20} MiB: {moved:.1f} GB/s read and written")
        else:
            names = {"ucx": ("UCX one way, 8 bytes: {:.2f} us", 1), "ucx_median": ("its median: {:.2f} us", 1),
                     "tcp_one": ("TCP, one stream: {:.1f} MB/s", 1000), "tcp_all": ("every node to the next: {:.1f} MB/s", 1000)}
            said = [text.format(self.one[name] * unit) for name, (text, unit) in names.items() if name in self.one]
        return "; ".join(said)
