# SPDX-License-Identifier: Apache-2.0
"""A parameter's gradient, on its way through an allreduce."""
import torch

from horovod.torch.ops import buffers, gpu
from horovod.torch.ops.allreduce import details


class Gradient:
    """What becomes of one parameter's gradient between backward() and step().

    submit() once it is complete; complete() then waits, and the gradient is the ranks'. In between
    it is reduced where it is, in the background, while the backward pass goes on: with compression,
    and where the library does not reduce such memory (ops/buffers.py), a copy is reduced.
    """

    def __init__(self, parameter, name, queue, compression, factors, op):
        self._parameter = parameter
        self._name = name
        self._queue = queue
        self._compression = compression
        self._factors, self._op = factors, op
        self._details = None  # of the tensor that is reduced; its shape does not change
        # Between submit and complete.
        self._wire = self._context = self._operation = self._where = None

    def submit(self):
        """Puts it in line as it is; a missing one counts as zeros."""
        compressed, self._context = self._compression.compress(_dense(self._parameter))
        self._where = where = gpu.where(self._queue, [compressed])
        self._wire = wire = buffers.for_reduction(compressed, self._op, self._factors,
                                                  where.place is not None)
        if self._details is None:
            self._details = details([wire])
        address = wire.data_ptr()
        self._operation = self._queue.allreduce(
            self._name, self._details,
            [(address, address, wire.numel(), buffers.reduction_type(wire))], self._op,
            self._factors, None, wire, verb="gradient",
            place=where.place)

    def complete(self):
        """Waits for it and puts the result into the parameter's gradient."""
        operation, wire, context = self._operation, self._wire, self._context
        where = self._where
        self._operation = self._wire = self._context = self._where = None

        def finish():
            where.join([wire])
            return self._compression.decompress(wire, context)

        operation.finish = finish
        result = self._queue.wait(operation)
        gradient = self._parameter.grad
        if result.data_ptr() != gradient.data_ptr() or result.dtype != gradient.dtype:
            with torch.no_grad():
                gradient.copy_(result)


def _dense(parameter):
    """The parameter's gradient, made dense, or zeros."""
    gradient = parameter.grad
    if gradient is None:
        gradient = parameter.grad = torch.zeros_like(parameter)
    elif gradient.is_sparse:
        gradient = parameter.grad = gradient.to_dense()
    return gradient
