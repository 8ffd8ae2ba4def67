# SPDX-License-Identifier: Apache-2.0
"""training.sh: all ways to train, round after round, and their table."""

import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "collectives"))
import machine  # noqa: E402
from options import Parser  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("BATCHAI_BUILD", os.path.join(SOURCE, "build/release"))
PEERS = os.environ.get("BATCHAI_PEERS", os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                                                     "batchai-peers"))
STOCK = os.environ.get("BATCHAI_STOCK_HOROVOD")
# A stock Horovod is one that was compiled for the system's PyTorch.
TORCH = "/usr/bin/python3" if STOCK else os.path.join(PEERS, "torch/bin/python")
TENSORFLOW = os.path.join(PEERS, "tf2.21/bin/python")
TORCH_WAYS = ("horovod", "ddp-gloo", "ddp-batchai", "stock")
TENSORFLOW_WAYS = ("horovod", "mirrored")
# What is trained: (its interpreter, script, ways).
TRAININGS = {
    "resnet50": (TORCH, "torch_step.py", TORCH_WAYS),
    "bert-base": (TORCH, "torch_step.py", TORCH_WAYS),
    "walk-through": (TORCH, "torch_step.py", TORCH_WAYS),
    "eager": (TENSORFLOW, "tensorflow_step.py", TENSORFLOW_WAYS),
    "function": (TENSORFLOW, "tensorflow_step.py", TENSORFLOW_WAYS),
    "keras": (TENSORFLOW, "tensorflow_step.py", TENSORFLOW_WAYS),
}
# By the number of nodes, of two ranks each: steps that are timed; and of gradients' networks the milliseconds of work,
# about as long as the wire takes.
STEPS = {1: 15, 2: 5, 4: 5}
WORK = {("resnet50", 1): 150, ("bert-base", 1): 300, ("resnet50", 2): 900, ("bert-base", 2): 3800,
        ("resnet50", 4): 1350, ("bert-base", 4): 5700}
# Parameters; those not named train the walk-through's network.
PARAMETERS = {"resnet50": 25_557_032, "bert-base": 109_482_240}
WALK_THROUGH = 1_250_858
LINK = 125e3  # bytes in a millisecond
LIMIT = 400  # seconds for one run
# On the login node: nodes, the launcher and its arguments.
CLUSTER = """nodes=$1; shift
for node in $(seq "$nodes"); do contrib/minislurm link "n$node" rate 1gbit; done
exec salloc --quiet --exclusive -N "$nodes" "$@" """


def missing(training, way):
    """Why this machine cannot run it; nothing where it can."""
    interpreter = TRAININGS[training][0]
    if not os.path.exists(interpreter):
        return f"{interpreter} is not there"
    return "no BATCHAI_STOCK_HOROVOD" if way == "stock" and not STOCK else ""


def run(options, training, way, nodes):
    """((step, compute, processor time of communication, of PyTorch only), why it failed): milliseconds."""
    interpreter, script, _ = TRAININGS[training]
    machine.wait_until_idle(options.patience)
    environment = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    if way == "stock":
        environment["PYTHONPATH"] = STOCK
    launcher = [os.path.join(BUILD, "bin/batchai-launch"), "--horovod", "system" if way == "stock" else "batchai"]
    command = ["--bind", "none", "--ranks-per-node", "2", "--", interpreter, os.path.join(HERE, script), training, way,
               str(STEPS[nodes]), str(WORK.get((training, nodes), 0))]
    if nodes == 1:
        command = [*launcher, "--local", "1", *command]
    else:
        command = [os.path.join(SOURCE, "contrib/minislurm"), "-n", str(nodes), "-m", "9000", "--",
                   "bash", "-c", CLUSTER, "cluster", str(nodes), *launcher, *command]
    output, failure = machine.run(command, environment, LIMIT)
    for line in output.splitlines() if not failure else ():
        if line.split()[:1] == ["trained"]:
            return [float(number) for number in line.split()[1:]], ""
    return None, failure or "no result"


def main():
    parser = Parser("training.sh")
    parser.add_argument("--only", type=parser.one_of("--only", list(TRAININGS)), default=list(TRAININGS))
    parser.add_argument("--nodes", type=parser.one_of("--nodes", list(map(str, STEPS))), default=["1", "2"])
    options = parser.parse_args()
    os.chdir(SOURCE)
    nodes_of = (1,) if options.quick else tuple(map(int, options.nodes))
    runs = {(nodes, training, way): [] for nodes in nodes_of for training in options.only
            for way in TRAININGS[training][2]}
    failures = {case: missing(*case[1:]) for case in runs}
    for _ in range(options.rounds):
        for case in runs:
            nodes, training, way = case
            if failures[case]:
                continue
            figures, failures[case] = run(options, training, way, nodes)
            if figures:
                runs[case].append(figures)
            elif way == "horovod":
                sys.exit(f"training.sh: {nodes}x2 {training}: ours failed: {failures[case]}")
    report(options, runs, failures)


def wire(training, nodes):
    """The least time in which a node's link takes the float32 gradients, in both directions at once, in milliseconds."""
    return 2 * (nodes - 1) / nodes * 4 * PARAMETERS.get(training, WALK_THROUGH) / LINK


def report(options, runs, failures):
    """exposed: what a step takes beyond the bound. ours/it: of steps. cpu: processor time of communication."""
    rows = []
    print(f"a step of training, milliseconds: medians of {options.rounds} rounds, {len(machine.CORES)} cores")
    print(f"{'ranks':>5} {'training':>12} {'way':>12} {'step':>8} {'bound':>8} {'wire':>8} {'exposed':>8} "
          f"{'cpu':>8} {'ours/it':>8}")
    for (nodes, training, way), figures in runs.items():
        head = f"  {nodes}x2 {training:>12} {way:>12}"
        if not figures:
            print(f"{head}  {failures[nodes, training, way]}")
            continue
        step, bound, *cpu = (statistics.median(numbers) for numbers in zip(*figures))
        ours = statistics.median(one[0] for one in runs[nodes, training, "horovod"])
        print(f"{head} {step:8.1f} {bound:8.1f} {wire(training, nodes):8.1f} {step - bound:8.1f} "
              f"{cpu[0] if cpu else float('nan'):8.1f} {ours / step:8.2f}")
        rows.append({"nodes": nodes, "training": training, "way": way, "step_msec": step, "bound_msec": bound,
                     "wire_msec": wire(training, nodes), "cpu_msec": cpu[0] if cpu else None})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


main()
