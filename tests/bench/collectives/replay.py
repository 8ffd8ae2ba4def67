#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""replay.py LIBRARY NETWORK STEPS MILLISECONDS - steps of training with a real network's gradients. The backward pass
only multiplies matrices, for each gradient in proportion to its size. It takes about MILLISECONDS on an idle machine.
LIBRARY: horovod (this project's, DistributedOptimizer) or ddp (torch's DistributedDataParallel with Gloo).
Rank 0 prints "replay STEP COMPUTE COMMUNICATION", medians in milliseconds: a step, a step without communication, and the
communication alone, after a backward pass without work."""

import statistics
import sys
import time

import torch

import gradients

SIDE = 96  # of the matrices


class Layer(torch.autograd.Function):
    """The chain's value goes through; the backward pass works, and makes the parameter's gradient."""

    @staticmethod
    def forward(ctx, value, parameter, work):
        ctx.save_for_backward(parameter)
        ctx.work = work
        return value + 0

    @staticmethod
    def backward(ctx, gradient):
        (parameter,) = ctx.saved_tensors
        for _ in range(ctx.work[0]):
            torch.mm(ctx.work[1], ctx.work[1], out=ctx.work[2])
        return gradient, torch.ones_like(parameter), None


class Network(torch.nn.Module):
    def __init__(self, sizes, multiplications):
        super().__init__()
        matrix, product = torch.rand(SIDE, SIDE), torch.empty(SIDE, SIDE)
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(size)) for size in sizes])
        self.share = [size / sum(sizes) for size in sizes]
        self.works = [[0, matrix, product] for _ in sizes]
        self.set_work(multiplications)

    def set_work(self, multiplications):
        """So many in all, each at the layer in which it becomes due."""
        due, done = 0.0, 0
        for share, work in zip(self.share, self.works):
            due += share * multiplications
            work[0] = int(due) - done
            done = int(due)

    def forward(self, value):
        for parameter, work in zip(self.weights, self.works):
            value = Layer.apply(value, parameter, work)
        return value.sum()


def multiplications_in(milliseconds):
    matrix, product = torch.rand(SIDE, SIDE), torch.empty(SIDE, SIDE)
    count, took = 64, 0.0
    while took < 0.05:
        count *= 2
        begin = time.perf_counter()
        for _ in range(count):
            torch.mm(matrix, matrix, out=product)
        took = time.perf_counter() - begin
    return int(milliseconds / 1000 * count / took)


class Horovod:
    def __init__(self, network):
        import horovod.torch as hvd
        self.hvd = hvd
        hvd.init()
        self.rank, self.size, self.network = hvd.rank(), hvd.size(), network
        self.optimizer = hvd.DistributedOptimizer(torch.optim.SGD(network.parameters(), lr=0.0),
                                                  network.named_parameters())
        self.synchronize = self.optimizer.synchronize

    def agree(self, number):
        return self.hvd.allreduce(torch.tensor(float(number)), name="agree").item()

    def close(self):
        self.hvd.shutdown()


class Ddp:
    def __init__(self, network):
        import torch.distributed as dist
        self.dist = dist
        dist.init_process_group("gloo")
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.network = torch.nn.parallel.DistributedDataParallel(network)

    def synchronize(self):
        """The backward pass has waited."""

    def agree(self, number):
        total = torch.tensor(float(number))
        self.dist.all_reduce(total)
        return total.item() / self.size

    def close(self):
        self.dist.destroy_process_group()


def median_step(library, model, parameters, steps):
    """Milliseconds."""
    times = []
    for _ in range(steps):
        for parameter in parameters:
            parameter.grad = None if parameter.grad is None else parameter.grad.zero_()
        begin = time.perf_counter()
        model(torch.ones(1, requires_grad=True)).backward()
        if model is library.network:
            library.synchronize()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def main():
    name, network, steps, milliseconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(1)
    sizes = gradients.NETWORKS[network]()
    alone = Network(sizes, 0)  # the same, on this rank only
    network = Network(sizes, 0)
    library = (Horovod if name == "horovod" else Ddp)(network)
    work = int(library.agree(multiplications_in(milliseconds)))
    parameters = list(network.parameters())
    median_step(library, library.network, parameters, 8)  # buckets are found, schedules frozen
    communication = median_step(library, library.network, parameters, steps)
    communication -= median_step(library, alone, list(alone.parameters()), steps)
    for net in (network, alone):
        net.set_work(work)
    compute = median_step(library, alone, list(alone.parameters()), steps)
    step = median_step(library, library.network, parameters, steps)
    for parameter in parameters:
        if not torch.equal(parameter.grad, torch.ones_like(parameter)):
            sys.exit("replay: a gradient is wrong")
    if library.rank == 0:
        print("replay %.2f %.2f %.2f" % (step, compute, communication), flush=True)
    library.close()


if __name__ == "__main__":
    main()
