# SPDX-License-Identifier: Apache-2.0
"""Gradients of Keras 3 on PyTorch and JAX, on their way to all ranks."""
import numpy

from horovod.common.arrays import operations, wait
from horovod.common.compression import NoneCompressor
from horovod.common.operations import Average
from horovod.common.process_sets import global_process_set, registered


def reduction(backend, name, compression=NoneCompressor, sparse_as_dense=False, op=Average,
              gradient_predivide_factor=1.0, groups=None, process_set=global_process_set,
              scale_local_gradients=True):
    """As horovod.tensorflow.gradients.Reduction. ValueError for another backend.

    These backends have no sparse gradients, and the library chooses the gradients that it fuses.
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    kinds = {"torch": _TorchReduction, "jax": _JaxReduction}
    if backend not in kinds:
        raise ValueError("horovod: Keras' backend %r is not supported: use tensorflow, torch or jax"
                         % backend)
    registered(process_set)
    factors = (1.0 / gradient_predivide_factor, float(gradient_predivide_factor))
    return kinds[backend](name, compression, op, factors, process_set, scale_local_gradients)


class _Reduction(object):
    def __init__(self, name, compression, op, factors, process_set, scale_local):
        self._name, self._compression, self._op, self._factors = name, compression, op, factors
        self._process_set, self._scale_local = process_set, scale_local
        self._local = {}  # variables by their numbers, which are theirs as long as they live

    def register_local(self, variable):
        """Its gradients stay this rank's."""
        self._local[id(variable)] = variable

    def is_local(self, variable):
        """Whether register_local() has had it."""
        return id(variable) in self._local

    def reduce(self, gradients, variables):
        """The ranks' gradients, in the order of this rank's. None stays None."""
        gradients = list(gradients)
        if not self._process_set.included() or self._process_set.size() == 1:
            return gradients
        numbers = []
        for number, (gradient, variable) in enumerate(zip(gradients, variables)):
            if gradient is not None and self.is_local(variable):
                if self._scale_local:
                    gradients[number] = gradient / self._process_set.size()
            elif gradient is not None:
                numbers.append(number)
        names = ["%s_Allreduce.%d" % (self._name, number) for number in numbers]
        reduced = self._reduce_all([gradients[number] for number in numbers], names)
        for number, gradient in zip(numbers, reduced):
            gradients[number] = gradient
        return gradients

    def _reduce_all(self, gradients, names):
        raise NotImplementedError()


class _TorchReduction(_Reduction):
    def _reduce_all(self, gradients, names):
        import horovod.torch as hvd
        packed = [self._compression.compress(gradient) for gradient in gradients]
        handles = [hvd.allreduce_async(tensor, name=name, op=self._op,
                                       prescale_factor=self._factors[0],
                                       postscale_factor=self._factors[1],
                                       process_set=self._process_set)
                   for (tensor, _), name in zip(packed, names)]
        return [self._compression.decompress(hvd.synchronize(handle), context)
                for handle, (_, context) in zip(handles, packed)]


class _JaxReduction(_Reduction):
    """Through a callback, which a compiled step may contain too."""

    def _reduce_all(self, gradients, names):
        import jax
        from jax.experimental import io_callback

        def reduce_now(*values):
            started = [operations.allreduce([numpy.asarray(value)], name, self._op,
                                            self._factors, self._process_set, "gradient")
                       for value, name in zip(values, names)]
            return tuple(wait(operation)[0] for operation in started)

        packed = [self._compression.compress(gradient) for gradient in gradients]
        sent = [gradient for gradient, _ in packed]
        shapes = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in sent)
        received = io_callback(reduce_now, shapes, *sent)
        return [self._compression.decompress(value, context)
                for value, (_, context) in zip(received, packed)]
