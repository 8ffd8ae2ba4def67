# SPDX-License-Identifier: Apache-2.0
"""Adasum of torch tensors (see horovod/common/adasum.py)."""
import torch

from horovod.common import adasum, basics
from horovod.torch.ops import buffers


def submit(tensors, outputs, name, factors, process_set):
    """An operation over a list of floating-point tensors. Each tensor is combined by itself."""
    for tensor in tensors:
        buffers.check_dense(tensor)
        if not tensor.is_floating_point():
            raise ValueError("horovod: Adasum of %s: expected floating-point numbers"
                             % tensor.dtype)
    queue = basics.queue(process_set)
    sent = [buffers.for_transport(tensor).double().reshape(-1) * factors[0] for tensor in tensors]
    results = []

    def start():
        results.extend(torch.from_numpy(adasum.combine(queue.communicator, tensor.numpy()))
                       for tensor in sent)
        return []

    def finish():
        shaped = [(result * factors[1]).reshape(tensor.shape).to(tensor.device, tensor.dtype)
                  for tensor, result in zip(tensors, results)]
        return [result if output is None else buffers.copy_back(output, result)
                for output, result in zip(outputs, shaped)]

    shapes = ", ".join(map(buffers.shape, tensors))
    scales = "" if factors == (1.0, 1.0) else " scaled by %r and %r" % factors
    return queue.submit("adasum", name, "of " + shapes + scales, start, finish)
