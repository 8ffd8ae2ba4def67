#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_gloo.py MILLISECONDS BYTES... - what driver.cpp does, for torch.distributed with its Gloo, as a training
calls it: from Python, and in place, for its all_reduce is. The sums are those of the buffer's own last result, so the
buffer is filled anew before each batch, and what is checked is one call."""

import statistics
import sys
import time

import torch
import torch.distributed as dist

SHORTEST_BATCH = 2000.0  # microseconds
MOST_BATCHES = 50
LONG = 2e6
PERIOD = 1000


def inputs(rank):
    return ((torch.arange(PERIOD) * 7 + rank * 13) % PERIOD).to(torch.float32)


class Driver:
    def __init__(self, most, budget):
        self.rank, self.size, self.budget = dist.get_rank(), dist.get_world_size(), budget
        repeats = -(-most // 4 // PERIOD)
        self.own = inputs(self.rank).repeat(repeats)
        self.sums = sum(inputs(rank) for rank in range(self.size)).repeat(repeats)
        self.buffer = torch.zeros(repeats * PERIOD)

    def measure(self, size):
        count = size // 4
        self.check(count)
        calls, spent, times = 1, 0.0, []
        while not times or (len(times) < 2 and spent < LONG) or (spent < self.budget and len(times) < MOST_BATCHES):
            took = self.batch(count, calls)
            spent += took
            if took < SHORTEST_BATCH:
                calls *= 2
                times = []
            else:
                times.append(took / calls)
        self.check(count)
        if self.rank == 0:
            print(f"result {size} {calls} {len(times)} {min(times):.4f} {statistics.median_high(times):.4f}", flush=True)

    def check(self, count):
        view = self.buffer[:count]
        view.copy_(self.own[:count])
        dist.all_reduce(view)
        if not torch.equal(view, self.sums[:count]):
            sys.exit(f"wrong sum in an allreduce of {count * 4} bytes")

    def batch(self, count, calls):
        view = self.buffer[:count]
        view.copy_(self.own[:count])
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            dist.all_reduce(view)
        took = torch.tensor((time.perf_counter() - begin) * 1e6)
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        return took.item()


dist.init_process_group("gloo")
sizes = [int(size) for size in sys.argv[2:]]
driver = Driver(max(sizes), float(sys.argv[1]) * 1000)
for size in sizes:
    driver.measure(size)
