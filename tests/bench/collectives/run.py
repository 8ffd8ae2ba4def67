#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What collectives.sh runs: its options, a cluster for the topologies of several nodes, and what comes out. A cluster's
login node runs this program again (--inside FILE), which leaves what it has measured in FILE."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile

import bounds
import measure
import peers
import report
from options import Parser

TOPOLOGIES = ["1x2", "2x1", "2x2", "2x4", "4x2"]
SOURCE = os.path.realpath(os.path.join(peers.HERE, "../../.."))
SIZES = [4, 8, 16, 64, 256] + [1024 << shift for shift in range(0, 20, 2)]
# Of other operations than allreduces.
OTHER_SIZES = [64, 1024, 16 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
QUICK_SIZES = [8, 1 << 16, 1 << 20]


def parse():
    parser = Parser("collectives.sh")
    names = [library.name for library in peers.LIBRARIES]
    size = parser.number("--sizes", 4, 1 << 28)
    parser.add_argument("--topology", type=parser.one_of("--topology", TOPOLOGIES))
    parser.add_argument("--operation", type=parser.one_of("--operation", list(bounds.OPERATIONS)))
    parser.add_argument("--bind", type=parser.one_of("--bind", ["core", "none"]))
    parser.add_argument("--library", type=parser.one_of("--library", names), default=names)
    parser.add_argument("--sizes", type=lambda text: [size(word) // 4 * 4 for word in text.split(",")])
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--inside", nargs=2)
    options = parser.parse_args()

    options.topology = options.topology or (["1x2", "2x2"] if options.quick else TOPOLOGIES)
    operations = options.operation or (["allreduce"] if options.quick else list(bounds.OPERATIONS))
    # Ranks that are not bound: allreduces only, unless the user wants others.
    options.cases = [(name, bind) for name in operations
                     for bind in options.bind or (["core", "none"] if name == "allreduce" else ["core"])]
    usual = {name: QUICK_SIZES if options.quick else SIZES if name == "allreduce" else OTHER_SIZES for name in operations}
    options.sizes = {name: options.sizes or usual[name] for name in operations}
    options.milliseconds = 20 if options.quick else 150
    options.limit = 30 if options.quick else 120
    options.build = os.environ.get("BATCHAI_BUILD", os.path.join(SOURCE, "build/release"))
    options.minislurm = os.path.join(SOURCE, "contrib/minislurm")
    if not options.inside:
        parser.needs_built(os.path.join(options.build, "tests/bench/batchai"))
    return options


def available(options):
    chosen = []
    for library in peers.LIBRARIES:
        if library.name not in options.library:
            continue
        why = library.missing(options.build)
        if options.touch and library.program == "torch":
            why = "its driver does not touch its buffers"
        if why:
            print(f"collectives.sh: {library.name} has no row: {why}", file=sys.stderr)
        else:
            chosen.append(library)
    return chosen


def run_all(options, libraries):
    """Measurements of all topologies, those with as many nodes in one cluster."""
    measured = []
    for nodes in sorted({bounds.Topology(name).nodes for name in options.topology}):
        names = [name for name in options.topology if bounds.Topology(name).nodes == nodes]
        found = measure_here(names, options, libraries) if nodes == 1 else in_cluster(nodes, names, options, libraries)
        for one in found:
            report.print_topology(one)
        measured += found
    return measured


def measure_here(names, options, libraries):
    return [measure.Measurement(bounds.Topology(name), options, libraries).run() for name in names]


def in_cluster(nodes, names, options, libraries):
    with tempfile.TemporaryDirectory() as work:
        task, answer = os.path.join(work, "task"), os.path.join(work, "answer")
        with open(task, "wb") as file:
            pickle.dump((names, options, libraries), file)
        command = [options.minislurm, "-n", str(nodes), "-m", "9000", "--", sys.executable, os.path.realpath(__file__)]
        done = subprocess.run([*command, "--inside", task, answer], cwd=SOURCE, check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        with open(answer, "rb") as file:
            return pickle.load(file)


def inside(task, answer):
    """On the login node."""
    with open(task, "rb") as file:
        names, options, libraries = pickle.load(file)
    options.work = os.environ["MINISLURM_DIR"]  # all nodes see it
    measured = measure_here(names, options, libraries)
    with open(answer, "wb") as file:
        pickle.dump(measured, file)


def main():
    options = parse()
    for signum in (signal.SIGTERM, signal.SIGINT):  # what runs is ended too
        signal.signal(signum, lambda caught, _: sys.exit(128 + caught))
    if options.inside:
        inside(*options.inside)
        return
    libraries = available(options)
    with tempfile.TemporaryDirectory() as options.work:
        measured = run_all(options, libraries)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(list(report.rows(measured)), file, indent=1)


main()
