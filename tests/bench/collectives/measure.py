# SPDX-License-Identifier: Apache-2.0
"""One topology: rooflines and all libraries in turn, round after round, for each case: an operation, with ranks bound to
cores or not. Of what each library gave for each size: the best batch of all rounds, and the rounds' medians of the mean and
of the 99th percentile of calls in a row. Runs that failed are counted for each size that they have not given."""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import bounds
import machine


class Figure:
    """A library's times for one size, in microseconds."""

    def __init__(self):
        self.best, self.means, self.percentiles, self.calls, self.failures = math.inf, [], [], 0, 0

    @property
    def usec(self):
        """Of the best batch."""
        return self.best if self.best < math.inf else None

    @property
    def mean(self):
        return statistics.median(self.means) if self.means else None

    @property
    def percentile(self):
        return statistics.median(self.percentiles) if self.percentiles else None


class Result:
    """Of one case. Only ranks that are bound to cores have batches: the best one shows the library, not where the kernel
    has put its ranks."""

    def __init__(self, topology, operation, bind, sizes, libraries):
        self.topology, self.operation, self.bind, self.sizes = topology, operation, bind, sizes
        self.libraries = [library for library in libraries if operation not in library.lacks]
        self.names = [library.name for library in self.libraries]
        self.roofline = bounds.Roofline()
        self.figures = {(name, size): Figure() for name in self.names for size in sizes}
        self.memory = {}  # by library, where it is known: KiB that each rank has held at most
        self.failures = []  # (library, reason)

    def add(self, library, output, failure):
        """What a run of the library has printed."""
        given = set()
        for line in output.splitlines():
            words = line.split()
            if words[:1] == ["memory"]:
                held = [int(word) for word in words[1:]]
                self.memory[library.name] = [max(pair) for pair in zip(held, self.memory.get(library.name, held))]
            elif len(words) == 5 and words[0] in ("series", "result"):
                figure = self.figures[library.name, int(words[1])]
                if words[0] == "result":
                    figure.best = min(figure.best, float(words[4]))
                else:
                    figure.calls = int(words[2])
                    figure.means.append(float(words[3]))
                    figure.percentiles.append(float(words[4]))
                if words[0] == ("series" if self.bind == "none" else "result"):
                    given.add(int(words[1]))
        if failure:
            self.failures.append((library.name, f"{failure}, after {len(given)} of {len(self.sizes)} sizes"))
        for size in self.sizes:
            self.figures[library.name, size].failures += size not in given


class Measurement:
    """With options as run.py has them."""

    def __init__(self, topology, options, libraries):
        self.topology, self.options = topology, options
        libraries = [library for library in libraries if library.nodes[0] <= topology.nodes <= library.nodes[1]]
        self.crowded = topology.ranks > len(machine.CORES)
        self.results = [Result(topology, operation, bind, self.sizes(operation), libraries)
                        for operation, bind in options.cases]
        self.busy = 0  # runs that began on a machine that was not idle
        self.stolen = 0.0
        self.seconds = 0.0

    def sizes(self, operation):
        """Blocks are of whole numbers, and of all ranks the same."""
        unit = 4 * self.topology.ranks if bounds.OPERATIONS[operation].divided else 4
        return sorted({max(unit, size // unit * unit) for size in self.options.sizes[operation] if self.topology.nodes == 1 or size <= 64 << 20})

    def run(self):
        begin, stolen = time.monotonic(), machine.Stolen()
        self.shape_links()
        for turn in range(self.options.rounds):
            self.measure_roofline()
            for result in self.results:
                for library in result.libraries:
                    self.say(f"round {turn + 1} of {self.options.rounds}: {result.operation}, {library.name}")
                    self.measure(result, library)
        self.say("")
        self.seconds, self.stolen = time.monotonic() - begin, stolen.part()
        return self

    def say(self, what):
        if sys.stderr.isatty():
            text = f"{self.topology.name} {what}" if what else ""
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def shape_links(self):
        for node in range(1, self.topology.nodes + 1) if self.topology.nodes > 1 else ():
            how = ["rate", "1gbit"] if self.topology.shaped else ["up"]
            subprocess.run([self.options.minislurm, "link", f"n{node}", *how], check=True)

    def launch(self, each, bound, command):
        """The command that starts so many ranks on each node of the topology. Bound: on one node each rank to a core,
        if there are so many; on several, as a node has cores to itself, all of its ranks to one."""
        launcher = os.path.join(self.options.build, "bin/batchai-launch")
        if self.topology.nodes == 1:
            where = "core" if bound and not self.crowded else "none"
            return [launcher, "--bind", where, "--local", "1", "-n", str(each), "--", *command]
        if bound:
            cores = " ".join(str(core) for core in machine.CORES)
            core = f"$(echo {cores} | cut -d ' ' -f $((SLURM_NODEID % {len(machine.CORES)} + 1)))"
            command = ["sh", "-c", f'exec taskset -c {core} "$@"', "-", *command]
        allocate = ["salloc", "--quiet", "--exclusive", "-N", str(self.topology.nodes)]
        return [*allocate, launcher, "--bind", "none", "--ranks-per-node", str(each), "--", *command]

    def started(self, command, environment):
        """(output, why it failed)."""
        if not machine.wait_until_idle(self.options.patience):
            self.busy += 1
        with tempfile.TemporaryDirectory(dir=self.options.work) as store:
            output, failure = machine.run(command, {**environment, "BENCH_STORE": store}, self.options.limit)
        if failure and self.topology.nodes > 1:
            wait_for_slurm()
        return output, failure

    def give_up(self, name, failure):
        """A peer that fails is a figure less. Without the bound or ours there is nothing to compare."""
        self.say("")
        sys.exit(f"collectives.sh: {self.topology.name}: {name}: {failure}")

    def measure_roofline(self):
        program = os.path.join(self.options.build, "tests/bench/roofline")
        if self.topology.nodes == 1:
            sizes = {size for result in self.results for size in result.sizes}
            command = [program, "memory", str(self.topology.each), str(self.options.milliseconds / 3)]
        else:
            # A link that is limited is as fast for any size; one that is not is as fast as the caches.
            sizes = {int(bounds.OPERATIONS[result.operation].exchanged * size) for result in self.results
                     for size in result.sizes if size >= 4096 and not self.topology.shaped}
            command = [program, "wire", str(max(300, self.options.milliseconds * 5))]
        command += [str(size) for size in sorted(sizes)]
        output, failure = self.started(command if self.topology.nodes == 1 else self.launch(1, True, command), {})
        if failure:
            self.give_up("roofline", failure)
        for result in self.results:
            result.roofline.add(output)

    def measure(self, result, library):
        environment = dict(library.environment)
        if self.options.touch:
            environment["BENCH_TOUCH"] = "1"
        if self.crowded:
            environment.update(library.crowded)
        command = [*library.command(self.options.build), result.operation,
                   str(0 if result.bind == "none" else self.options.milliseconds)]
        command += [str(size) for size in result.sizes]
        bound = library.bound and result.bind == "core"
        output, failure = self.started(self.launch(self.topology.each, bound, command), environment)
        if failure and library.is_ours:
            self.give_up(f"{library.name}: {result.operation}", failure)
        result.add(library, output, failure)


def wait_for_slurm():
    """What was killed may still have steps on the nodes."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        jobs = subprocess.run(["squeue", "--noheader"], capture_output=True, text=True, check=False)
        if jobs.returncode == 0 and not jobs.stdout.strip():
            return
        time.sleep(0.2)
