# SPDX-License-Identifier: Apache-2.0
"""The functions of horovod.keras and horovod.tensorflow.keras, for the Keras that each is for."""
from horovod._keras import backends, values
from horovod.common import keras3, operations as common
from horovod.common.arrays import operations, wait
from horovod.common.compression import compression_for
from horovod.common.gradients import check_plain
from horovod.common.models import (backend_of, is_keras_3, is_of_keras_3,
                                   trained_variables)
from horovod.common.operations import Average, Sum
from horovod.common.process_sets import global_process_set
from horovod.common.util import get_average_backwards_compatibility_fun

_chosen = get_average_backwards_compatibility_fun(common)


def compression_of(keras):
    """The class Compression of the Keras' backend."""
    backend = backend_of(keras)
    if backend == "torch":
        from horovod.torch.compression import Compression
    elif backend == "jax":
        Compression = compression_for(__name__, "float16", lambda dtype: dtype.kind == "f",
                                      lambda tensor, dtype: tensor.astype(dtype))
    else:
        from horovod.tensorflow.compression import Compression
    return Compression


class Interface(object):
    """Functions with a Keras in front. Their arguments are Horovod's."""

    def __init__(self, keras):
        self._keras = keras
        self.Compression = compression_of(keras)

    def DistributedOptimizer(self, optimizer, name=None, device_dense="", device_sparse="",
                             compression=None, sparse_as_dense=False,
                             gradient_predivide_factor=1.0, op=Average,
                             backward_passes_per_step=1, average_aggregated_gradients=False,
                             num_groups=0, groups=None, process_set=global_process_set,
                             scale_local_gradients=True):
        """A Keras optimizer like the given one whose gradients are those of all ranks.

        Arguments as of horovod.tensorflow.DistributedOptimizer().
        """
        check_plain(optimizer)
        if op not in (Average, Sum):
            raise ValueError("horovod: op must be Average or Sum")
        settings = dict(
            compression=compression or self.Compression.none, sparse_as_dense=sparse_as_dense,
            op=op, gradient_predivide_factor=gradient_predivide_factor,
            groups=groups if groups is not None else (num_groups or None), process_set=process_set,
            scale_local_gradients=scale_local_gradients)
        backend = backend_of(self._keras)
        if backend != "tensorflow" and is_of_keras_3(self._keras, optimizer):
            name = name or "Distributed%s" % optimizer.__class__.__name__
            return keras3.distributed(
                self._keras, optimizer, backends.reduction(backend, name, **settings),
                backward_passes_per_step, average_aggregated_gradients)
        from horovod.tensorflow import keras_optimizers
        return keras_optimizers.distributed(
            self._keras, optimizer, name, backward_passes_per_step, average_aggregated_gradients,
            **settings)

    def PartialDistributedOptimizer(self, optimizer, name=None, device_dense="", device_sparse="",
                                    compression=None, sparse_as_dense=False,
                                    gradient_predivide_factor=1.0, op=Average,
                                    backward_passes_per_step=1, average_aggregated_gradients=False,
                                    groups=None, process_set=global_process_set, local_layers=None,
                                    scale_local_gradients=True):
        """DistributedOptimizer() that leaves alone the gradients of local_layers: one or several."""
        distributed = self.DistributedOptimizer(
            optimizer, name, device_dense, device_sparse, compression, sparse_as_dense,
            gradient_predivide_factor, op, backward_passes_per_step, average_aggregated_gradients,
            groups=groups, process_set=process_set, scale_local_gradients=scale_local_gradients)
        for variable in trained_variables(local_layers):
            distributed.register_local_var(variable)
        return distributed

    def broadcast_global_variables(self, root_rank):
        """Gives every rank root_rank's variables, of a Keras that works in a graph."""
        import horovod.tensorflow as hvd
        return values.evaluate(self._keras, hvd.broadcast_global_variables(root_rank))

    def allreduce(self, value, name=None, average=None, prescale_factor=1.0, postscale_factor=1.0,
                  op=None, compression=None):
        """The reduction over all ranks of anything that can become a tensor."""
        op = _chosen(op, average)
        compression = compression or self.Compression.none
        if is_keras_3(self._keras):
            packed, context = compression.compress(self._keras.ops.convert_to_tensor(value))
            reduced = self._on_arrays(packed, lambda array: operations.allreduce(
                [array], name, op, (float(prescale_factor), float(postscale_factor))))
            return compression.decompress(reduced, context)
        import horovod.tensorflow as hvd
        return values.evaluate(self._keras, hvd.allreduce(
            _tensor(value), op=op, prescale_factor=prescale_factor,
            postscale_factor=postscale_factor, name=name, compression=compression))

    def allgather(self, value, name=None):
        """The values of all ranks along the first dimension."""
        if is_keras_3(self._keras):
            return self._on_arrays(value, lambda array: operations.allgather([array], name))
        import horovod.tensorflow as hvd
        return values.evaluate(self._keras, hvd.allgather(_tensor(value), name))

    def broadcast(self, value, root_rank, name=None):
        """root_rank's value, on every rank."""
        if is_keras_3(self._keras):
            return self._on_arrays(value, lambda array: operations.broadcast([array], root_rank,
                                                                              name))
        import horovod.tensorflow as hvd
        return values.evaluate(self._keras, hvd.broadcast(_tensor(value), root_rank, name))

    def reducescatter(self, value, name=None, op=Average):
        """This rank's rows of the reduction over all ranks."""
        if is_keras_3(self._keras):
            return self._on_arrays(value, lambda array: operations.reducescatter([array], name,
                                                                                  op))
        import horovod.tensorflow as hvd
        return values.evaluate(self._keras, hvd.reducescatter(_tensor(value), op=op, name=name))

    def load_model(self, filepath, custom_optimizers=None, custom_objects=None, compression=None,
                   legacy_opts=False):
        """Loads a model that was saved; its optimizer becomes a DistributedOptimizer with its state.

        custom_optimizers: optimizer classes beside Keras' own. legacy_opts: the model's optimizer is
        one of tf.keras.optimizers.legacy.
        """
        def wrap(plain):
            return self.DistributedOptimizer(plain, compression=compression)
        if is_keras_3(self._keras):
            return keras3.load_model(self._keras, wrap, filepath, custom_optimizers, custom_objects)
        from horovod.tensorflow import keras_optimizers
        return keras_optimizers.load_model(self._keras, wrap, filepath, custom_optimizers,
                                           custom_objects, legacy_opts)

    def _on_arrays(self, value, start):
        array = self._keras.ops.convert_to_numpy(value)
        return self._keras.ops.convert_to_tensor(wait(start(array))[0])


def _tensor(value):
    import tensorflow as tf
    return tf.convert_to_tensor(value)
