#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A process of a rank, without a framework: init(), and its number.

hold FILE: it makes FILE.RANK then, and stays until it is ended. spawn: two processes by multiprocessing.
launcher SIZE: as torchrun with two processes on a node does, one after the other; 2: on each node by itself.
"""
import multiprocessing
import os
import subprocess
import sys
import time

from horovod.common import basics


def join():
    basics.init()
    print("rank %d of %d is fine" % (basics.rank(), basics.size()), flush=True)


def stay():
    join()
    time.sleep(60)


def run_processes(size):
    node = 0 if size == "2" else int(os.environ["GROUP_RANK"])
    codes = []
    for local in range(2):
        environment = dict(os.environ, TORCHELASTIC_RUN_ID="none", RANK=str(2 * node + local),
                           WORLD_SIZE=size, LOCAL_RANK=str(local), LOCAL_WORLD_SIZE="2")
        codes.append(subprocess.call([sys.executable, __file__], env=environment))
    return max(codes)


if __name__ == "__main__":
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "launcher":
        sys.exit(run_processes(sys.argv[2]))
    if mode == "spawn":
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=stay) for _ in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    elif mode == "hold":
        basics.init()
        open("%s.%d" % (sys.argv[2], basics.rank()), "w").close()
        time.sleep(60)
    else:
        join()
