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
STEPS = {1: 15, 2: 5}
WORK = {("resnet50", 1): 150, ("bert-base", 1): 300, ("resnet50", 2): 900, ("bert-base", 2): 3800}
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
    """((step, compute), why it failed): milliseconds."""
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
    options = parser.parse_args()
    os.chdir(SOURCE)
    nodes_of = (1,) if options.quick else (1, 2)
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


def report(options, runs, failures):
    """exposed: what a step takes beyond the bound, which is that of our own run. ours/it: of steps."""
    rows = []
    print(f"a step of training, milliseconds: medians of {options.rounds} rounds, {len(machine.CORES)} cores")
    print(f"{'ranks':>5} {'training':>12} {'way':>12} {'step':>8} {'bound':>8} {'exposed':>8} {'ours/it':>8}")
    for (nodes, training, way), figures in runs.items():
        head = f"  {nodes}x2 {training:>12} {way:>12}"
        if not figures:
            print(f"{head}  {failures[nodes, training, way]}")
            continue
        step, bound = (statistics.median(numbers) for numbers in zip(*figures))
        ours = statistics.median(one for one, _ in runs[nodes, training, "horovod"])
        print(f"{head} {step:8.1f} {bound:8.1f} {step - bound:8.1f} {ours / step:8.2f}")
        rows.append({"nodes": nodes, "training": training, "way": way, "step_msec": step, "bound_msec": bound})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


main()
