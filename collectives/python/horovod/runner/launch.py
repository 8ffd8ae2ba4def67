# SPDX-License-Identifier: Apache-2.0
"""horovodrun: Horovod's command line for batchai-launch, in its most common words.

Ranks run on this machine, or on the nodes of a Slurm allocation, without ssh. Options of Horovod that
batchai-launch cannot carry out are refused.
"""
import argparse
import os
import re
import socket
import subprocess
import sys

import horovod

_BUILD = """Horovod %s (Batch AI's):

Available Frameworks:
    [%s] TensorFlow
    [%s] PyTorch
    [ ] MXNet

Available Controllers:
    [ ] MPI
    [X] Gloo (in its place, the collective library)

Available Tensor Operations:
    [ ] NCCL
    [ ] DDL
    [ ] CCL
    [ ] MPI
    [X] Gloo (in its place, the collective library)
"""


def _parser():
    parser = argparse.ArgumentParser(prog="horovodrun", description="Starts a Horovod job.")
    parser.add_argument("-v", "--version", action="version", version=horovod.__version__)
    parser.add_argument("-cb", "--check-build", action="store_true",
                        help="show which frameworks can be imported, and exit")
    parser.add_argument("-np", "--num-proc", type=int, metavar="N", help="number of ranks")
    parser.add_argument("-H", "--hosts", metavar="HOST:SLOTS,...",
                        help="this machine, or all nodes of the Slurm allocation, with equal slots")
    parser.add_argument("--gloo", action="store_true", help="start without MPI (the default)")
    parser.add_argument("--network-interfaces", metavar="NAME",
                        help="the network interface that the ranks use")
    parser.add_argument("--output-filename", metavar="DIR",
                        help="write each rank's output also to DIR/rank.N/stdout and stderr")
    parser.add_argument("--fusion-threshold-mb", type=int, metavar="MB")
    parser.add_argument("--cycle-time-ms", type=float, metavar="MS")
    parser.add_argument("--cache-capacity", type=int, metavar="N")
    parser.add_argument("--autotune", action="store_true")
    parser.add_argument("--timeline-filename", metavar="FILE")
    parser.add_argument("--timeline-mark-cycles", action="store_true")
    parser.add_argument("--no-stall-check", action="store_true")
    parser.add_argument("--stall-check-warning-time-seconds", type=int, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    return parser


def _variables(options):
    """The options as Horovod's variables."""
    megabytes = options.fusion_threshold_mb
    values = {"HOROVOD_FUSION_THRESHOLD": None if megabytes is None else megabytes << 20,
              "HOROVOD_CYCLE_TIME": options.cycle_time_ms,
              "HOROVOD_CACHE_CAPACITY": options.cache_capacity,
              "HOROVOD_AUTOTUNE": 1 if options.autotune else None,
              "HOROVOD_TIMELINE": options.timeline_filename,
              "HOROVOD_TIMELINE_MARK_CYCLES": 1 if options.timeline_mark_cycles else None,
              "HOROVOD_STALL_CHECK_DISABLE": 1 if options.no_stall_check else None,
              "HOROVOD_STALL_CHECK_TIME_SECONDS": options.stall_check_warning_time_seconds}
    return {name: str(value) for name, value in values.items() if value is not None}


def _here(host):
    return host in ("localhost", "127.0.0.1", socket.gethostname(),
                    socket.gethostname().split(".")[0])


def _allocated():
    """The nodes of the Slurm allocation; none outside."""
    nodes = os.environ.get("SLURM_JOB_NODELIST")
    if not nodes or not os.environ.get("SLURM_JOB_ID"):
        return []
    return subprocess.check_output(["scontrol", "show", "hostnames", nodes]).decode().split()


def placement(ranks, hosts, allocated, here=_here):
    """Arguments of batchai-launch that place the ranks. ValueError if it cannot place them so.

    hosts: as of -H, or None. allocated: names of the allocation's nodes.
    """
    if hosts is None:
        if ranks is None:
            raise ValueError("-np N is missing: the number of ranks")
        return ["-n", str(ranks)] if allocated else ["--local", "1", "-n", str(ranks)]
    slots = []
    for part in hosts.split(","):
        match = re.match("([^:]+)(?::([1-9][0-9]*))?$", part.strip())
        if match is None:
            raise ValueError("-H: %r is not HOST:SLOTS" % part)
        slots.append((match.group(1), int(match.group(2) or 1)))
    total = sum(count for _, count in slots)
    ranks = total if ranks is None else ranks
    if ranks > total:
        raise ValueError("-np %d: -H has only %d slots" % (ranks, total))
    if len(slots) == 1 and here(slots[0][0]):
        return ["--local", "1", "-n", str(ranks)]
    if not allocated:
        raise ValueError("-H: horovodrun does not use ssh: run it in a Slurm allocation of these "
                         "nodes, for example salloc -N %d" % len(slots))
    if sorted(host for host, _ in slots) != sorted(allocated):
        raise ValueError("-H: the hosts are not the nodes of the allocation: %s"
                         % ",".join(allocated))
    if ranks != total or len({count for _, count in slots}) > 1:
        raise ValueError("-H: all hosts need the same number of slots, and -np must be their sum")
    return ["--ranks-per-node", str(slots[0][1])]


def launcher():
    """The path of batchai-launch: that beside the package, else by PATH."""
    folder = os.path.dirname(os.path.abspath(__file__))
    for _ in range(6):  # of lib/batchai/python/horovod/runner, perhaps in lib/ARCHITECTURE
        folder = os.path.dirname(folder)
        beside = os.path.join(folder, "bin", "batchai-launch")
        if os.path.exists(beside):
            return beside
    return "batchai-launch"


def main(arguments=None):
    """Runs the command line; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.check_build:
        from horovod.common.util import extension_available
        frameworks = tuple("X" if extension_available(name) else " "
                           for name in ("tensorflow", "torch"))
        sys.stdout.write(_BUILD % ((horovod.__version__,) + frameworks))
        return 0
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("no command is given")
    try:
        words = placement(options.num_proc, options.hosts, _allocated())
    except ValueError as error:
        parser.error(str(error))
    if options.network_interfaces:
        words += ["--interface", options.network_interfaces]
    if options.output_filename:
        words += ["--output-dir", options.output_filename]
    environment = dict(os.environ, **_variables(options))
    try:
        os.execvpe(launcher(), ["batchai-launch"] + words + ["--"] + command, environment)
    except OSError as error:
        sys.stderr.write("horovodrun: %s: %s\n" % (launcher(), error))
        return 127


if __name__ == "__main__":
    sys.exit(main())
