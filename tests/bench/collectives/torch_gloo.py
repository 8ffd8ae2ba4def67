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

BATCH = 4000.0  # microseconds
MOST_BATCHES = 50
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
        calls = 1
        while True:
            (took,) = self.slowest([self.batch(count, calls)])
            if took >= BATCH / 4:
                break
            calls *= 4
        one = took / calls
        calls = max(1, int(BATCH / one))
        batches = min(max(int(self.budget / (one * calls)), 2), MOST_BATCHES)
        times = self.slowest([self.batch(count, calls) / calls for _ in range(batches)])
        self.check(count)
        if self.rank == 0:
            print(f"result {size} {calls} {batches} {min(times):.4f} {statistics.median_high(times):.4f}", flush=True)

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
        return (time.perf_counter() - begin) * 1e6

    def slowest(self, mine):
        most = torch.tensor(mine, dtype=torch.float64)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        return most.tolist()


dist.init_process_group("gloo")
sizes = [int(size) for size in sys.argv[2:]]
driver = Driver(max(sizes), float(sys.argv[1]) * 1000)
for size in sizes:
    driver.measure(size)
