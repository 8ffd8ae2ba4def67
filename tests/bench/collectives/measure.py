# SPDX-License-Identifier: Apache-2.0
"""One topology: rooflines and all libraries in turn, round after round. Best and median of what each gave for each
size; runs that failed are counted for each size that they have not given."""

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
        self.best, self.medians, self.failures = math.inf, [], 0

    @property
    def usec(self):
        return self.best if self.medians else None

    @property
    def median(self):
        return statistics.median(self.medians) if self.medians else None


class Result:
    def __init__(self, topology, sizes, libraries):
        self.topology, self.sizes, self.names = topology, sizes, [library.name for library in libraries]
        self.roofline = bounds.Roofline()
        self.figures = {(name, size): Figure() for name in self.names for size in sizes}
        self.memory = {}  # by library, where it is known: KiB that each rank has held at most
        self.failures = []  # (library, reason)
        self.busy = 0  # runs that began on a machine that was not idle
        self.stolen = 0.0
        self.seconds = 0.0


class Measurement:
    """With options as run.py has them."""

    def __init__(self, topology, options, libraries):
        self.topology, self.options = topology, options
        self.libraries = [library for library in libraries if library.nodes[0] <= topology.nodes <= library.nodes[1]]
        self.crowded = topology.ranks > len(machine.CORES)
        sizes = [size for size in options.sizes if topology.nodes == 1 or size <= 64 << 20]
        self.result = Result(topology, sizes, self.libraries)

    def run(self):
        begin, stolen = time.monotonic(), machine.Stolen()
        self.shape_links()
        for turn in range(self.options.rounds):
            self.measure_roofline()
            for library in self.libraries:
                self.say(f"round {turn + 1} of {self.options.rounds}: {library.name}")
                self.measure(library)
        self.say("")
        self.result.seconds, self.result.stolen = time.monotonic() - begin, stolen.part()
        return self.result

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
            self.result.busy += 1
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
            command = [program, "memory", str(self.topology.each), str(self.options.milliseconds / 3)]
            command += [str(size) for size in self.result.sizes]
        else:
            command = [program, "wire", str(max(300, self.options.milliseconds * 5))]
            # A link that is limited is as fast for any size; one that is not is as fast as the caches.
            command += [] if self.topology.shaped else [str(size) for size in self.result.sizes if size >= 4096]
            command = self.launch(1, True, command)
        output, failure = self.started(command, {})
        if failure:
            self.give_up("roofline", failure)
        self.result.roofline.add(output)

    def measure(self, library):
        environment = dict(library.environment)
        if self.crowded:
            environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
        command = library.command(self.options.build) + [str(self.options.milliseconds)]
        command += [str(size) for size in self.result.sizes]
        output, failure = self.started(self.launch(self.topology.each, library.bound, command), environment)
        given = set()
        for line in output.splitlines():
            words = line.split()
            if words[:1] == ["memory"]:
                held = [int(word) for word in words[1:]]
                self.result.memory[library.name] = [max(pair) for pair in zip(held, self.result.memory.get(library.name, held))]
            if len(words) != 6 or words[0] != "result":
                continue
            figure = self.result.figures[library.name, int(words[1])]
            figure.best = min(figure.best, float(words[4]))
            figure.medians.append(float(words[5]))
            given.add(int(words[1]))
        if failure and library.is_ours:
            self.give_up(library.name, failure)
        if failure:
            self.result.failures.append((library.name, f"{failure}, after {len(given)} of {len(self.result.sizes)} sizes"))
        for size in self.result.sizes:
            self.result.figures[library.name, size].failures += size not in given


def wait_for_slurm():
    """What was killed may still have steps on the nodes."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        jobs = subprocess.run(["squeue", "--noheader"], capture_output=True, text=True, check=False)
        if jobs.returncode == 0 and not jobs.stdout.strip():
            return
        time.sleep(0.2)
