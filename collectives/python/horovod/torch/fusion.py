# SPDX-License-Identifier: Apache-2.0
"""Gradients fused into buckets: fewer, larger allreduces, in the same order on every rank.

Backward passes produce gradients roughly from the last layer to the first, so buckets hold the
parameters in reverse order of registration. A bucket is reduced as soon as its last gradient is
ready and all buckets before it are under way: the rest of the backward pass overlaps with it, and
no rank can start them in another order.
"""
import torch

from horovod.common import basics
from horovod.common.process_sets import global_process_set
from horovod.torch.ops import buffers


def make_buckets(parameters, threshold):
    """Lists of parameters of one type and device, of at most threshold bytes or only one."""
    buckets, sizes = [], []
    for parameter in reversed(parameters):
        size = buffers.byte_count(parameter)
        if buckets and _alike(buckets[-1][0], parameter) and sizes[-1] + size <= threshold:
            buckets[-1].append(parameter)
            sizes[-1] += size
        else:
            buckets.append([parameter])
            sizes.append(size)
    return buckets


def _alike(one, other):
    return one.dtype == other.dtype and one.device == other.device


class Bucket:
    """The gradients of some parameters on their way through one allreduce."""

    def __init__(self, parameters, compression, prescale, postscale, op,
                 process_set=global_process_set):
        self.parameters = parameters
        self._compression = compression
        self._factors, self._op = (prescale, postscale), op
        self._process_set = process_set
        self._counts = [parameter.numel() for parameter in parameters]
        self._buffer = self._context = self._request = None  # between launch and complete

    def launch(self):
        """Starts the allreduce of the gradients as they are; a missing one counts as zeros."""
        flat = torch.cat([_gradient(parameter).reshape(-1) for parameter in self.parameters])
        flat, self._context = self._compression.compress(flat)
        self._buffer = wire = buffers.for_reduction(flat, self._op, self._factors)
        communicator = basics.communicator(self._process_set)
        with communicator.lock:
            self._request = communicator.allreduce_async(
                wire.data_ptr(), wire.data_ptr(), wire.numel(), buffers.reduction_type(wire),
                self._op, *buffers.library_factors(wire, self._factors))

    def complete(self):
        """Waits for it and puts the results into the gradients."""
        communicator = basics.communicator(self._process_set)
        with communicator.lock:
            communicator.wait(self._request)
        reduced = self._compression.decompress(self._buffer, self._context)
        self._buffer = self._context = self._request = None
        for parameter, part in zip(self.parameters, reduced.split(self._counts)):
            _set_gradient(parameter, part.reshape(parameter.shape))


def _gradient(parameter):
    gradient = parameter.grad
    if gradient is None:
        return torch.zeros_like(parameter)
    return gradient.to_dense() if gradient.is_sparse else gradient


def _set_gradient(parameter, value):
    if parameter.grad is None or parameter.grad.is_sparse:
        parameter.grad = torch.empty_like(parameter)
    with torch.no_grad():
        parameter.grad.copy_(value)
