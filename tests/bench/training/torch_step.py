#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_step.py NETWORK WAY STEPS MILLISECONDS - steps of training with PyTorch. NETWORK: resnet50, bert-base (their
gradients, and about so many milliseconds of work for all of them) or walk-through. WAY: horovod, stock, ddp-gloo or
ddp-batchai. If all ranks end with the same weights, rank 0 prints "trained STEP COMPUTE CPU" in milliseconds: the
medians of a step and of one without communication, and the processor time that communication adds to a step, the ranks'
mean."""

import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "collectives"))
import torch  # noqa: E402

import gradients  # noqa: E402
import replay  # noqa: E402


def walk_through():
    """The network of the walk-through's script."""
    layers = torch.nn
    return layers.Sequential(
        layers.Conv2d(3, 32, 3, padding=1), layers.ReLU(), layers.Conv2d(32, 32, 3), layers.ReLU(),
        layers.MaxPool2d(2), layers.Conv2d(32, 64, 3, padding=1), layers.ReLU(), layers.Conv2d(64, 64, 3),
        layers.ReLU(), layers.MaxPool2d(2), layers.Flatten(), layers.Linear(2304, 512), layers.ReLU(),
        layers.Linear(512, 10))


class Horovod:
    def __init__(self):
        import horovod.torch as hvd
        hvd.init()
        self.hvd, self.rank = hvd, hvd.rank()

    def wrap(self, network, optimizer):
        return network, self.hvd.DistributedOptimizer(optimizer, network.named_parameters())

    def gather(self, value):
        return self.hvd.allgather_object(value)


class Ddp:
    def __init__(self, backend):
        import torch.distributed as dist
        if backend == "batchai":
            import horovod.torch.distributed  # noqa: F401, which registers it
        dist.init_process_group(backend)
        self.dist, self.rank = dist, dist.get_rank()

    def wrap(self, network, optimizer):
        return torch.nn.parallel.DistributedDataParallel(network), optimizer

    def gather(self, value):
        values = [None] * self.dist.get_world_size()
        self.dist.all_gather_object(values, value)
        return values


def made(name, milliseconds, rank, gather):
    """A network, and what a batch is and becomes: (network, loss of the network)."""
    torch.manual_seed(1)  # the same weights on all ranks
    if name == "walk-through":
        network = walk_through()
        torch.manual_seed(2 + rank)
        images, labels = torch.rand(32, 3, 32, 32), torch.randint(0, 10, (32,))
        return network, lambda model: torch.nn.functional.cross_entropy(model(images), labels)
    network = replay.Network(gradients.NETWORKS[name](), 0)
    each = gather(replay.multiplications_in(milliseconds))
    network.set_work(sum(each) // len(each))
    # The gradients are ones, times this.
    return network, lambda model: model(torch.full((1,), 1.0, requires_grad=True)) * (1.0 + rank)


def timed_steps(steps, model, optimizer, loss_of):
    """Milliseconds: the median, and the mean of the processor time of all threads."""
    times, processor = [], time.process_time()
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times), (time.process_time() - processor) * 1000 / steps


def main():
    name, way, steps, milliseconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(1)
    library = Ddp(way[4:]) if way.startswith("ddp-") else Horovod()
    network, loss_of = made(name, milliseconds, library.rank, library.gather)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    timed_steps(2, network, optimizer, loss_of)
    library.gather(None)
    compute, alone = timed_steps(steps, network, optimizer, loss_of)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.rand_like(parameter) * 0.01)
    model, optimizer = library.wrap(network, optimizer)
    library.gather(None)
    timed_steps(8 if milliseconds < 1000 else 4, model, optimizer, loss_of)  # buckets are found, schedules frozen
    step, together = timed_steps(steps, model, optimizer, loss_of)
    sums = [parameter.detach().double().sum().item() for parameter in network.parameters()]
    if any(one != sums for one in library.gather(sums)):
        sys.exit("the ranks have different weights")
    processor = statistics.mean(library.gather(together - alone))
    if library.rank == 0:
        print("trained %.2f %.2f %.2f" % (step, compute, processor), flush=True)


main()
