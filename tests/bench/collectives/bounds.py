# SPDX-License-Identifier: Apache-2.0
"""Topologies, what the roofline programs print, and the time below which no operation can be (tests/bench/README.md).

S: bytes of a rank's larger buffer. G: ranks of a node. N: nodes. The bound is the larger of latency and bandwidth:

                  one node: bytes that all ranks     several nodes: bytes that a node    hops of UCX's
                  read and write, beside G copies    has to send or to receive, over     one-way latency
                  of S bytes at once (2 G S)         the goodput of TCP streams
allreduce         G (S + S)     -> 1                 2 (N-1)/N S                         ceil(log2 N)
broadcast         S + (G-1) S   -> 1/2               S                                   ceil(log2 N)
allgather         G (S/G + S)   -> (G+1)/(2G)        (N-1)/N S                           ceil(log2 N)
reduce-scatter    G (S + S/G)   -> (G+1)/(2G)        (N-1)/N S                           ceil(log2 N)
all-to-all        G (S + S)     -> 1                 G (N-1)/N S                         1

On one node the latency is one flag from a core to another. In 2x1, without a limit of the links, the bandwidth is that of
an exchange of as many bytes over plain TCP: an allreduce moves as much as two nodes that send each other S bytes, the
others as much as two that send each other S/2."""

import math


class Operation:
    """copies, wire: the factors of the table, of ranks of a node, and of nodes and these."""

    def __init__(self, copies, wire, exchanged=0.5, tree=True, divided=True):
        self.copies, self.wire, self.exchanged = copies, wire, exchanged
        self.tree = tree  # the farthest rank is ceil(log2 N) hops away
        self.divided = divided  # into blocks, one for each rank

    def hops(self, nodes):
        return math.ceil(math.log2(nodes)) if self.tree else 1


OPERATIONS = {
    "allreduce": Operation(lambda each: 1, lambda nodes, each: 2 * (nodes - 1) / nodes, exchanged=1, divided=False),
    "broadcast": Operation(lambda each: 0.5, lambda nodes, each: 1, divided=False),
    "allgather": Operation(lambda each: (each + 1) / (2 * each), lambda nodes, each: (nodes - 1) / nodes),
    "reduce-scatter": Operation(lambda each: (each + 1) / (2 * each), lambda nodes, each: (nodes - 1) / nodes),
    "all-to-all": Operation(lambda each: 1, lambda nodes, each: each * (nodes - 1) / nodes, tree=False),
}


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

    def bound(self, topology, name, size):
        """Microseconds; nothing where the roofline could not be measured."""
        operation, nodes = OPERATIONS[name], topology.nodes
        if nodes == 1:
            copy = self.copies.get(size)
            parts = [self.one.get("flag"), copy and operation.copies(topology.each) * copy]
        else:
            latency, goodput = self.one.get("ucx"), self.one.get("tcp_all")
            parts = [latency and operation.hops(nodes) * latency]
            if topology.shaped:
                parts.append(goodput and operation.wire(nodes, topology.each) * size / goodput / 1000)
            else:
                parts.append(self.exchanges.get(int(operation.exchanged * size)))
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
