# SPDX-License-Identifier: Apache-2.0
"""collectives_queue.sh: negotiation and replay, round after round, and their tables."""

import json
import os
import statistics
import subprocess
import sys

import machine
from options import Parser

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("BATCHAI_BUILD", os.path.join(SOURCE, "build/release"))
TENSORS = 160
RANKS = (2, 8)
# (nodes, network, milliseconds of work, steps): of several nodes, which have links of 1 Gbit/s, as long as the wire takes.
REPLAYS = [(1, "resnet50", 150, 15), (1, "bert-base", 300, 15), (2, "resnet50", 800, 5)]
LIBRARIES = {"batchai": "horovod", "ddp": "ddp"}
LIMIT = 300  # seconds for one run
NOISE = 1.05  # of two steps: more is behind
# On the login node: nodes, the launcher and its arguments.
CLUSTER = """nodes=$1; shift
for node in $(seq "$nodes"); do contrib/minislurm link "n$node" rate 1gbit burst 72kb; done
exec salloc --quiet --exclusive -N "$nodes" "$@" """


def launch(options, nodes, ranks, bind, command, word):
    """The numbers of the line that begins with the word. bind: as of batchai-launch."""
    machine.wait_until_idle(options.patience)
    environment = {"PYTHONPATH": os.path.join(BUILD, "lib/batchai/python"), "OMP_NUM_THREADS": "1"}
    command = ["--bind", bind, "--ranks-per-node", str(ranks), "--", *command]
    if nodes == 1:
        command = [os.path.join(BUILD, "bin/batchai-launch"), "--local", "1", *command]
    else:
        command = [os.path.join(SOURCE, "contrib/minislurm"), "-n", str(nodes), "-m", "9000", "--",
                   "bash", "-c", CLUSTER, "cluster", str(nodes), os.path.join(BUILD, "bin/batchai-launch"), *command]
    output, failure = machine.run(command, environment, LIMIT)
    for line in output.splitlines() if not failure else ():
        if line.split()[:1] == [word]:
            return [float(number) for number in line.split()[1:]]
    sys.exit(f"collectives_queue.sh: {' '.join(command)}: {failure or 'no result'}")


def negotiation(options, ranks):
    program = os.path.join(BUILD, "tests/bench/queue")
    return launch(options, 1, ranks, "core", [program, str(TENSORS), "200" if options.quick else "1000"], "queue")[2:]


def replay(options, library, nodes, network, work, steps):
    program = ["/usr/bin/python3", os.path.join(HERE, "replay.py"), LIBRARIES[library], network, str(steps), str(work)]
    return launch(options, nodes, 2 // nodes, "none", program, "replay")  # with threads of their own


def medians(runs):
    return [statistics.median(numbers) for numbers in zip(*runs)]


def overlap(step, compute, communication):
    """Which part of the shorter one of compute and communication the longer one has hidden."""
    return (compute + communication - step) / min(compute, communication)


def main():
    parser = Parser("collectives_queue.sh")
    options = parser.parse_args()
    parser.needs_built(os.path.join(BUILD, "tests/bench/queue"))
    os.chdir(SOURCE)
    replays = REPLAYS[:1] if options.quick else REPLAYS
    named = {ranks: [] for ranks in RANKS}
    replayed = {(what, library): [] for what in replays for library in LIBRARIES}
    for _ in range(options.rounds):
        for ranks in RANKS:
            named[ranks].append(negotiation(options, ranks))
        for what, library in replayed:
            replayed[what, library].append(replay(options, library, *what))

    rows = []
    print(f"{TENSORS} named tensors, microseconds a step")
    print(f"{'ranks':>6} {'bare':>8} {'frozen':>8} {'negotiated':>11}  {'naming costs':>13}")
    for ranks, runs in named.items():
        bare, frozen, negotiated = medians(runs)
        print(f"{ranks:6} {bare:8.1f} {frozen:8.1f} {negotiated:11.1f}  {frozen - bare:13.1f}")
        rows.append({"ranks": ranks, "tensors": TENSORS, "bare_usec": bare, "frozen_usec": frozen,
                     "negotiated_usec": negotiated})
    print("\na step of training, 2 ranks, milliseconds")
    print(f"{'nodes':>5} {'network':>10} {'library':>8} {'compute':>8} {'reduce':>8} {'step':>8} {'overlap':>8}")
    for ((nodes, network, *rest), library), runs in replayed.items():
        step, compute, communication = medians(runs)
        hidden = overlap(step, compute, communication)
        behind = library == "batchai" and step > NOISE * medians(replayed[(nodes, network, *rest), "ddp"])[0]
        print(f"{nodes:5} {network:>10} {library:>8} {compute:8.1f} {communication:8.1f} {step:8.1f} {hidden:8.2f}"
              + ("  BEHIND" if behind else ""))
        rows.append({"nodes": nodes, "network": network, "library": library, "step_msec": step, "compute_msec": compute,
                     "communication_msec": communication, "overlap": hidden})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


main()
