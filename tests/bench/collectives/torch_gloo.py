#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_gloo.py OPERATION MILLISECONDS BYTES... - what driver.cpp does, for torch.distributed with its Gloo, as a
training calls it: from Python. all_reduce and broadcast work in place. An all_reduce adds
up its own last result. So the buffer is filled anew before calls in a row and before each batch, and one call is checked."""

import math
import sys
import time

import torch
import torch.distributed as dist

SHORTEST_BATCH = 2000.0  # microseconds
MOST_BATCHES = 50
LONG = 2e6
PERIOD = 1000


def calls_in_a_row(size):
    return 200 if size <= 64 << 10 else 20 if size <= 4 << 20 else 5


def inputs(rank, first, count):
    return ((torch.arange(first, first + count) * 7 + rank * 13) % PERIOD).to(torch.float32)


class Driver:
    def __init__(self, operation, most, budget):
        self.operation, self.budget = operation, budget
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.own = inputs(self.rank, 0, most // 4)
        self.buffer = torch.zeros(most // 4)

    def measure(self, size):
        self.count = size // 4
        self.block = self.count // self.ranks
        self.send, self.receive = self.own[:self.count], self.buffer[:self.count]
        self.parts = list(self.receive.split(max(1, self.block)))
        self.check()
        self.series(size)
        if self.budget > 0:
            self.batches(size)
        self.check()

    def fill(self):
        if self.operation == "allreduce" or (self.operation == "broadcast" and self.rank == 0):
            self.receive.copy_(self.send)

    def call(self):
        if self.operation == "allreduce":
            dist.all_reduce(self.receive)
        elif self.operation == "broadcast":
            dist.broadcast(self.receive, 0)
        elif self.operation == "allgather":
            dist.all_gather(self.parts, self.send[:self.block])
        elif self.operation == "reduce-scatter":
            dist.reduce_scatter_tensor(self.parts[0], self.send)
        else:
            dist.all_to_all_single(self.receive, self.send)

    def expected(self):
        ranks = range(self.ranks)
        if self.operation == "reduce-scatter":
            return sum(inputs(rank, self.rank * self.block, self.block) for rank in ranks)
        if self.operation == "allreduce":
            return sum(inputs(rank, 0, self.count) for rank in ranks)
        if self.operation == "broadcast":
            return inputs(0, 0, self.count)
        first = self.rank * self.block if self.operation == "all-to-all" else 0
        return torch.cat([inputs(rank, first, self.block) for rank in ranks])

    def check(self):
        self.receive.fill_(math.nan)
        self.fill()
        self.call()
        if not torch.equal(self.parts[0] if self.operation == "reduce-scatter" else self.receive, self.expected()):
            sys.exit(f"wrong result of {self.operation}, {self.count * 4} bytes")

    def timed_calls(self, calls):
        self.fill()
        dist.barrier()
        times, begin = [], time.perf_counter()
        for _ in range(calls):
            self.call()
            end = time.perf_counter()
            times.append((end - begin) * 1e6)
            begin = end
        return times

    def series(self, size):
        wanted = calls_in_a_row(size)
        times = self.timed_calls(min(wanted, 20))
        if len(times) < wanted and most(sum(times)) < LONG / 10:
            times += self.timed_calls(wanted - len(times))
        mean = most(sum(times) / len(times))
        percentile = most(sorted(times)[math.ceil(0.99 * len(times)) - 1])
        if self.rank == 0:
            print(f"series {size} {len(times)} {mean:.4f} {percentile:.4f}", flush=True)

    def batches(self, size):
        calls, spent, times = 1, 0.0, []
        while not times or (len(times) < 2 and spent < LONG) or (spent < self.budget and len(times) < MOST_BATCHES):
            took = self.batch(calls)
            spent += took
            if took < SHORTEST_BATCH:
                calls *= 2
                times = []
            else:
                times.append(took / calls)
        if self.rank == 0:
            print(f"result {size} {calls} {len(times)} {min(times):.4f}", flush=True)

    def batch(self, calls):
        self.fill()
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            self.call()
        return most((time.perf_counter() - begin) * 1e6)


def most(value):
    all_of_them = torch.tensor(value)
    dist.all_reduce(all_of_them, op=dist.ReduceOp.MAX)
    return all_of_them.item()


dist.init_process_group("gloo")
sizes = [int(size) for size in sys.argv[3:]]
driver = Driver(sys.argv[1], max(sizes), float(sys.argv[2]) * 1000)
for size in sizes:
    driver.measure(size)
dist.barrier()  # the first rank has the store that the others use until their end
dist.destroy_process_group()
