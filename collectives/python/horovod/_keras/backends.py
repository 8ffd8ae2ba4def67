# SPDX-License-Identifier: Apache-2.0
"""Gradients of Keras 3 on PyTorch and JAX, on their way to all ranks.

These backends have no sparse gradients, and the library chooses the gradients that it fuses.
"""
import numpy

from horovod.common.arrays import operations, wait
from horovod.common.compression import compressed
from horovod.common.gradients import Reduction


def reduction(backend, name, **settings):
    """A Reduction for a backend, from the arguments of Reduction. ValueError for another backend."""
    kinds = {"torch": _TorchReduction, "jax": _JaxReduction}
    if backend not in kinds:
        raise ValueError("horovod: Keras' backend %r is not supported: use tensorflow, torch or jax"
                         % backend)
    return kinds[backend](name, **settings)


class _Reduction(Reduction):
    def reduce_all(self, gradients, numbers, variables):
        names = ["%s_Allreduce.%d" % (self._name, number) for number in numbers]
        return compressed(self._compression, gradients,
                          lambda tensors: self._reduce_each(tensors, names))


class _TorchReduction(_Reduction):
    def _reduce_each(self, tensors, names):
        import horovod.torch as hvd
        handles = [hvd.allreduce_async(tensor, name=name, op=self._op,
                                       prescale_factor=self._factors[0],
                                       postscale_factor=self._factors[1],
                                       process_set=self._process_set)
                   for tensor, name in zip(tensors, names)]
        return [hvd.synchronize(handle) for handle in handles]


class _JaxReduction(_Reduction):
    """Through a callback, which a compiled step may contain too."""

    def _reduce_each(self, tensors, names):
        import jax
        from jax.experimental import io_callback

        def reduce_now(*values):
            started = [operations.allreduce([numpy.asarray(value)], name, self._op, self._factors,
                                            self._process_set, "gradient")
                       for value, name in zip(values, names)]
            return tuple(wait(operation)[0] for operation in started)

        shapes = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in tensors)
        return io_callback(reduce_now, shapes, *tensors)
