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


def bound_of(result, size):
    return result.roofline.bound(result.topology, result.operation, size)


def fraction(result, size, usec):
    """The bound in parts of a time."""
    bound = bound_of(result, size)
    return bound / usec if usec and bound else None


def best_peer(result, size, of):
    """(time, name) of the fastest one beside ours, if there is one. of: which time of a figure."""
    times = [(of(result.figures[library.name, size]), library.name) for library in result.libraries if not library.is_ours]
    return min(((usec, name) for usec, name in times if usec), default=None)


def goal(result, size):
    """The least part of the bound that ours is to reach."""
    topology = result.topology
    if result.operation != "allreduce":
        return None
    if topology.nodes == 1:
        return 0.80 if size == 64 << 20 else None
    if not topology.shaped:
        return 1 / 1.3 if size == 8 else None
    if size >= 16 << 20:
        return 0.95
    return {4 << 20: 0.90, 1 << 20: 0.80}.get(size)


def print_topology(measured):
    topology, roofline = measured.topology, measured.results[0].roofline
    print(f"{topology.name}: {topology.text()}. {roofline.text(topology)}.")
    if measured.options.touch:
        print("Between calls, ranks write what they send and read what they have got. The times include that, the bound does not.")
    print(f"{measured.seconds:.0f} s, {measured.stolen:.1%} of the processors' time stolen"
          + (f", {measured.busy} runs began on a busy machine" if measured.busy else "") + ".\n")
    for result in measured.results:
        print_result(result)


def print_result(result):
    head = f"{result.topology.name} {result.operation}, microseconds a call"
    if result.bind == "core":
        print_table(result, f"{head}: the fastest batch", lambda figure: figure.usec)
        print_table(result, f"{head}: the mean of calls in a row, and our 99th percentile", lambda figure: figure.mean,
                    lambda figure: figure.percentile)
    else:
        print_table(result, f"{head}, ranks not bound to cores: the mean of calls in a row, and our 99th percentile",
                    lambda figure: figure.mean, lambda figure: figure.percentile)
    if result.bind == "core":
        print_memory(result)
    print_failures(result)


def cell(result, library, size, of, percentile):
    """Ours beside its part of the bound, and its percentile if there is one."""
    figure = result.figures[library.name, size]
    usec = of(figure)
    if not usec:
        return "failed"
    if not library.is_ours:
        return time_text(usec)
    part = fraction(result, size, usec)
    return (time_text(usec) + (f" {part:4.0%}" if part else "")
            + (time_text(percentile(figure)).rjust(8) if percentile else ""))


def print_table(result, title, of, percentile=None):
    print(f"{title}\n")
    widths = {library.name: max((22 if percentile else 14) if library.is_ours else 9, len(library.name) + 2)
              for library in result.libraries}
    heads = ["bytes".rjust(8), "bound".rjust(9)] + [name.rjust(widths[name]) for name in result.names]
    ours = "batchai" in result.names
    print("".join(heads) + ("    goal  ahead of the best peer" if ours else ""))
    for size in result.sizes:
        bound = bound_of(result, size)
        row = size_text(size).rjust(8) + (time_text(bound) if bound else "-").rjust(9)
        row += "".join(cell(result, library, size, of, percentile).rjust(widths[library.name])
                       for library in result.libraries)
        print((row + verdict(result, size, of) if ours else row).rstrip())
    print()


def verdict(result, size, of):
    usec = of(result.figures["batchai", size])
    least, part = goal(result, size), fraction(result, size, usec)
    text = "".rjust(8)
    if least:
        text = f"{least:.0%} {'ok' if part and part >= least else 'NO'}".rjust(8)
    peer = best_peer(result, size, of)
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


def rows(measurements):
    """As --json writes them."""
    for result in (result for measured in measurements for result in measured.results):
        for size in result.sizes:
            for name in result.names:
                figure = result.figures[name, size]
                yield {"topology": result.topology.name, "operation": result.operation, "bind": result.bind, "bytes": size,
                       "library": name, "usec": figure.usec, "bound_fraction": fraction(result, size, figure.usec),
                       "calls": figure.calls, "mean_usec": figure.mean, "p99_usec": figure.percentile,
                       "mean_bound_fraction": fraction(result, size, figure.mean), "failures": figure.failures,
                       "memory_kib": max(result.memory.get(name, []), default=None)}
