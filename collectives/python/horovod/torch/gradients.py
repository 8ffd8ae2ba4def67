# SPDX-License-Identifier: Apache-2.0
"""Parameters' gradients, on their way between backward() and step()."""
import contextlib

import torch

from horovod.common import library
from horovod.common.exceptions import HorovodInternalError
from horovod.torch.mpi_ops import sparse_allreduce_async
from horovod.torch.tensors import operations


# The library's message if a rank has submitted another operation, or has left.
_UNEVEN = "no operation was submitted on every rank"


class Gradients:
    """Reduces some parameters' gradients, mostly of one, between backward() and step().

    Call submit() once they are complete. The library then reduces them together, in place and in the
    background, while the backward pass goes on. complete() waits; after it the gradients are the
    ranks'. With compression, and of memory that it cannot use (common/operations.py), the library
    reduces copies. A gradient that is sparse and alone is reduced as such, except with
    sparse_as_dense.
    """

    def __init__(self, parameters, name, queue, compression, factors, op, sparse_as_dense,
                 process_set):
        self.parameters = parameters
        self._name = name
        self._queue = queue
        self._compression = compression
        self._factors, self._op = factors, op
        self._sparse_as_dense, self._process_set = sparse_as_dense, process_set
        self._sparse = False  # once one was
        self._were_sparse = set()  # places of parameters; zero_grad() may set a gradient to None
        self._sparse_dim = 1  # of the last one with elements; at first, that of an embedding's
        self._details = None  # of the tensors that are reduced; their shapes do not change
        # Between submit and complete.
        self._wires = self._contexts = self._operation = self._where = None

    def submit(self):
        """Submits the gradients as they are. A missing one counts as zeros."""
        if self._is_sparse():
            (parameter,) = self.parameters
            gradient = parameter.grad
            if gradient is not None and gradient.is_sparse and gradient._nnz() > 0:
                self._sparse_dim = gradient.sparse_dim()
            else:  # other ranks may have some; torch's zero_() may have changed the dimensions
                gradient = torch.zeros_like(parameter).to_sparse(self._sparse_dim)
            self._operation = sparse_allreduce_async(gradient, self._name, self._op,
                                                     self._process_set)
            return
        self._were_sparse.update(place for place, parameter in enumerate(self.parameters)
                                 if parameter.grad is not None and parameter.grad.is_sparse)
        pairs = [self._compression.compress(_dense(parameter)) for parameter in self.parameters]
        self._contexts = [context for _, context in pairs]
        self._where = where = operations.where(self._queue, [tensor for tensor, _ in pairs])
        self._wires = [operations.for_reduction(tensor, self._op, self._factors,
                                                where.place is not None) for tensor, _ in pairs]
        if self._details is None:
            self._details = operations.details(self._wires)
        tensors = [(wire.data_ptr(), wire.data_ptr(), wire.numel(), operations.reduction_type(wire))
                   for wire in self._wires]
        self._operation = self._queue.allreduce(
            self._name, self._details, tensors, self._op, self._factors, None, self._wires,
            verb="gradient", place=where.place)

    def complete(self):
        """Waits for them and puts the results into the parameters' gradients."""
        operation, wires, contexts = self._operation, self._wires, self._contexts
        where = self._where
        self._operation = self._wires = self._contexts = self._where = None
        if wires is None:
            (parameter,) = self.parameters
            parameter.grad = operation()
            return
        operation.finish = lambda: where.join(wires)
        try:
            self._queue.wait(operation)
        except HorovodInternalError as error:
            if _UNEVEN not in str(error):
                raise
            raise HorovodInternalError("%s. If ranks have different numbers of batches, each calls "
                                       "hvd.join() after its last one" % error) from error
        for place, (parameter, wire, context) in enumerate(zip(self.parameters, wires, contexts)):
            self._put(parameter, wire, context, place in self._were_sparse)

    def _put(self, parameter, wire, context, is_sparse):
        gradient = parameter.grad
        if gradient.is_complex():
            wire = torch.view_as_complex(wire)
        result = self._compression.decompress(wire, context)
        if is_sparse:
            parameter.grad = result.to(gradient.device, gradient.dtype).to_sparse()
        elif result.data_ptr() != gradient.data_ptr() or result.dtype != gradient.dtype:
            with torch.no_grad():
                gradient.copy_(result)

    def _is_sparse(self):
        if self._sparse_as_dense:
            return False
        self._sparse = self._sparse or any(
            parameter.grad is not None and parameter.grad.is_sparse
            for parameter in self.parameters)
        if not self._sparse:
            return False
        if len(self.parameters) > 1:
            raise ValueError("horovod: a gradient in a group is sparse: pass sparse_as_dense=True "
                             "to DistributedOptimizer")
        return True


def _dense(parameter):
    """The parameter's gradient, dense, or zeros."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad


def complete_all(gradients, at_end):
    """complete() of all of them, whichever fails; then at_end()."""
    with contextlib.ExitStack() as stack:
        stack.callback(at_end)
        for each in reversed(gradients):
            stack.callback(each.complete)


def check_op(op):
    """Raises ValueError for a reduction that gradients are not for."""
    if op not in (library.SUM, library.AVERAGE):
        raise ValueError("horovod: DistributedOptimizer: op must be Average, Sum or Adasum")
