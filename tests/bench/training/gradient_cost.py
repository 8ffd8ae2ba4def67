#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gradient_cost.py WAY STEPS - what a small gradient of one step costs a rank: torch, function (tf.function) or eager.

A step reduces 160 gradients of four numbers by name, as optimizers do. Rank 0 prints "cost MICROSECONDS": the median of a
step less that of one without communication, for each gradient."""

import statistics
import sys
import time

COUNT = 160


def median_time(count, function):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        function()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def torch_steps():
    """(a step, one without communication, rank): as horovod.torch's optimizer reduces gradients."""
    import torch
    import horovod.torch as hvd
    hvd.init()
    gradients = [torch.ones(4) for _ in range(COUNT)]
    results = [torch.empty(4) for _ in range(COUNT)]

    def step():
        handles = [hvd.allreduce_async_(gradient, op=hvd.Average, name="gradient.%d" % number)
                   for number, gradient in enumerate(gradients)]
        for handle in handles:
            hvd.synchronize(handle)

    def alone():
        for gradient, result in zip(gradients, results):
            result.copy_(gradient)
    return step, alone, hvd.rank()


def tensorflow_steps(way):
    """The same as horovod.tensorflow's optimizers and tapes do."""
    import tensorflow as tf
    import horovod.tensorflow as hvd
    from horovod.tensorflow.ops.operations import reduce_each
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    hvd.init()
    gradients = [tf.ones(4) for _ in range(COUNT)]
    names = ["gradient.%d" % number for number in range(COUNT)]

    def step(*inputs):
        return reduce_each(list(inputs), names, hvd.Average)

    def alone(*inputs):
        return [tf.identity(one) for one in inputs]
    if way == "function":
        step, alone = tf.function(step), tf.function(alone)
    return (lambda: step(*gradients)), (lambda: alone(*gradients)), hvd.rank()


def main():
    way, steps = sys.argv[1], int(sys.argv[2])
    step, alone, rank = torch_steps() if way == "torch" else tensorflow_steps(way)
    for _ in range(20):
        step()
        alone()
    cost = (median_time(steps, step) - median_time(steps, alone)) / COUNT
    if rank == 0:
        print("cost %.2f" % cost, flush=True)


main()
