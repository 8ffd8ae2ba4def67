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
TORCH = os.path.join(PEERS, "torch/bin/python")
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
# By nodes and ranks of each: steps that are timed; and of gradients' networks the milliseconds of work, about as long as
# the wire takes.
STEPS = {"1x2": 15, "2x1": 5, "2x2": 5, "4x2": 5}
WORK = {"resnet50": {"1x2": 150, "2x1": 900, "2x2": 900, "4x2": 1350},
        "bert-base": {"1x2": 300, "2x1": 3800, "2x2": 3800, "4x2": 5700}}
# Parameters; those not named train the walk-through's network.
PARAMETERS = {"resnet50": 25_557_032, "bert-base": 109_482_240}
WALK_THROUGH = 1_250_858
LINK = 125e3  # bytes in a millisecond
LIMIT = 400  # seconds for one run
NOISE = 1.05  # ours/it: more is behind
# On the login node: nodes, the launcher and its arguments.
CLUSTER = """nodes=$1; shift
for node in $(seq "$nodes"); do contrib/minislurm link "n$node" rate 1gbit burst 72kb; done
exec salloc --quiet --exclusive -N "$nodes" "$@" """


def interpreter_of(training, way):
    """A stock Horovod was compiled for the system's PyTorch, and imports packages of its own tests' environment."""
    return os.path.join(PEERS, "debian/bin/python") if way == "stock" else TRAININGS[training][0]


def missing(training, way):
    """Why this machine cannot run it; nothing where it can."""
    if way == "stock" and not STOCK:
        return "no BATCHAI_STOCK_HOROVOD"
    interpreter = interpreter_of(training, way)
    return "" if os.path.exists(interpreter) else f"{interpreter} is not there"


def run(options, shape, training, way):
    """((step, compute, processor time of communication, of PyTorch only), why it failed): milliseconds."""
    machine.wait_until_idle(options.patience)
    environment = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    if way == "stock":
        environment["PYTHONPATH"] = STOCK
    nodes, ranks = shape.split("x")
    launcher = [os.path.join(BUILD, "bin/batchai-launch"), "--horovod", "system" if way == "stock" else "batchai"]
    command = ["--bind", "none", "--ranks-per-node", ranks, "--", interpreter_of(training, way),
               os.path.join(HERE, TRAININGS[training][1]), training, way, str(STEPS[shape]),
               str(WORK.get(training, {}).get(shape, 0))]
    if nodes == "1":
        command = [*launcher, "--local", "1", *command]
    else:
        command = [os.path.join(SOURCE, "contrib/minislurm"), "-n", nodes, "-m", "9000", "--",
                   "bash", "-c", CLUSTER, "cluster", nodes, *launcher, *command]
    output, failure = machine.run(command, environment, LIMIT)
    for line in output.splitlines() if not failure else ():
        if line.split()[:1] == ["trained"]:
            return [float(number) for number in line.split()[1:]], ""
    return None, failure or "no result"


def main():
    parser = Parser("training.sh")
    parser.add_argument("--only", type=parser.one_of("--only", list(TRAININGS)), default=list(TRAININGS))
    parser.add_argument("--shapes", type=parser.one_of("--shapes", list(STEPS)), default=["1x2", "2x2"])
    options = parser.parse_args()
    parser.needs_built(os.path.join(BUILD, "bin/batchai-launch"))
    os.chdir(SOURCE)
    shapes = ["1x2"] if options.quick else options.shapes
    runs = {(shape, training, way): [] for shape in shapes for training in options.only
            for way in TRAININGS[training][2]}
    failures = {case: missing(*case[1:]) for case in runs}
    for _ in range(options.rounds):
        for case in runs:
            shape, training, way = case
            if failures[case]:
                continue
            figures, failures[case] = run(options, *case)
            if figures:
                runs[case].append(figures)
            elif way == "horovod":
                sys.exit(f"training.sh: {shape} {training}: ours failed: {failures[case]}")
    report(options, runs, failures)


def wire(training, shape):
    """The least time in which a node's link takes the float32 gradients, in both directions at once, in milliseconds."""
    nodes = int(shape.split("x")[0])
    return 2 * (nodes - 1) / nodes * 4 * PARAMETERS.get(training, WALK_THROUGH) / LINK


def report(options, runs, failures):
    """exposed: what a step takes beyond the bound. ours/it: of steps. cpu: processor time of communication."""
    rows = []
    print(f"a step of training, milliseconds: medians of {options.rounds} rounds, {len(machine.CORES)} cores")
    print(f"{'ranks':>5} {'training':>12} {'way':>12} {'step':>8} {'bound':>8} {'wire':>8} {'exposed':>8} "
          f"{'cpu':>8} {'ours/it':>8}")
    for (shape, training, way), figures in runs.items():
        head = f"  {shape} {training:>12} {way:>12}"
        if not figures:
            print(f"{head}  {failures[shape, training, way]}")
            continue
        step, bound, *cpu = (statistics.median(numbers) for numbers in zip(*figures))
        ours = statistics.median(one[0] for one in runs[shape, training, "horovod"])
        print(f"{head} {step:8.1f} {bound:8.1f} {wire(training, shape):8.1f} {step - bound:8.1f} "
              f"{format(cpu[0], '8.1f') if cpu else '-':>8} {ours / step:8.2f}"
              + ("  BEHIND" if ours / step > NOISE else ""))
        rows.append({"shape": shape, "training": training, "way": way, "step_msec": step, "bound_msec": bound,
                     "wire_msec": wire(training, shape), "cpu_msec": cpu[0] if cpu else None})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


main()
