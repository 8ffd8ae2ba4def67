# SPDX-License-Identifier: Apache-2.0
"""What was measured, as a table and as rows."""

from collections import Counter

NOISE = 1.05  # between two figures of a row
MOST_MEMORY = 16 << 10  # KiB that ours is to hold on a rank


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(usec):
    digits = 3 if usec < 10 else 2 if usec < 100 else 1 if usec < 1000 else 0
    return f"{usec:.{digits}f}"


def fraction(result, name, size):
    """The bound in parts of the time that a library took."""
    usec, bound = result.figures[name, size].usec, result.roofline.bound(result.topology, size)
    return bound / usec if usec and bound else None


def best_peer(result, size):
    """(time, name) of the fastest one beside ours, where there is one."""
    times = [(result.figures[name, size].usec, name) for name in result.names if not name.startswith("batchai")]
    return min(((usec, name) for usec, name in times if usec), default=None)


def goal(topology, size):
    """The least part of the bound that ours is to reach."""
    if topology.nodes == 1:
        return 0.80 if size == 64 << 20 else None
    if not topology.shaped:
        return 1 / 1.3 if size == 8 else None
    if size >= 16 << 20:
        return 0.95
    return {4 << 20: 0.90, 1 << 20: 0.80}.get(size)


def cell(result, name, size):
    figure, part = result.figures[name, size], fraction(result, name, size)
    if figure.usec is None:
        return "failed"
    return time_text(figure.usec) + (f" {part:4.0%}" if part else "")


def print_table(result):
    topology, roofline = result.topology, result.roofline
    print(f"{topology.name}: {topology.text()}. {roofline.text(topology)}.")
    print(f"{result.seconds:.0f} s, {result.stolen:.1%} of the processors' time stolen"
          + (f", {result.busy} runs began on a busy machine" if result.busy else "") + ".\n")
    widths = {name: max(13, len(name) + 2) for name in result.names}
    ours = "batchai" in result.names
    heads = ["bytes".rjust(8), "bound".rjust(9)] + [name.rjust(widths[name]) for name in result.names]
    print("".join(heads) + ("    goal   median  ahead of the best peer" if ours else ""))
    for size in result.sizes:
        bound = roofline.bound(topology, size)
        row = size_text(size).rjust(8) + (time_text(bound) if bound else "-").rjust(9)
        row += "".join(cell(result, name, size).rjust(widths[name]) for name in result.names)
        print((row + verdict(result, size) if ours else row).rstrip())
    print()
    print_memory(result)
    print_failures(result)


def verdict(result, size):
    least, part = goal(result.topology, size), fraction(result, "batchai", size)
    text = "".rjust(8)
    if least:
        text = f"{least:.0%} {'ok' if part and part >= least else 'NO'}".rjust(8)
    figure = result.figures["batchai", size]
    peer, usec = best_peer(result, size), figure.usec
    text += (time_text(figure.median) if usec else "").rjust(9)
    if peer and usec:
        ahead = peer[0] / usec
        text += f"  {ahead:6.2f} x {peer[1]}" + ("" if ahead * NOISE >= 1 else ": BEHIND")
    return text


def print_memory(result):
    if not result.memory:
        return
    most = ", ".join(f"{name} {max(held) / 1024:.1f}" for name, held in result.memory.items())
    print(f"MiB that the library holds beyond the buffers, on the rank that holds most: {most}")
    if ours := result.memory.get("batchai"):
        each = " ".join(f"{held / 1024:.1f}" for held in ours)
        print(f"batchai by rank: {each}; goal: at most {MOST_MEMORY >> 10}: {'ok' if max(ours) <= MOST_MEMORY else 'NO'}")
    print()


def print_failures(result):
    if not result.failures:
        return
    print("failures, not timed:")
    for (name, reason), number in Counter(result.failures).items():
        print(f"{number:4} {name}: {reason}")
    print()


def rows(results):
    """As --json writes them."""
    for result in results:
        for size in result.sizes:
            for name in result.names:
                figure = result.figures[name, size]
                yield {"topology": result.topology.name, "bytes": size, "library": name, "usec": figure.usec,
                       "bound_fraction": fraction(result, name, size), "failures": figure.failures,
                       "memory_kib": max(result.memory.get(name, []), default=None)}
