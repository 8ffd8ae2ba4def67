# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: TensorFlow's own optimizers with the gradients of all ranks."""
import tensorflow as tf

from horovod.common import saving
from horovod.common.gradients import check_arguments, check_plain
from horovod.common.operations import Adasum, Average
from horovod.common.process_sets import global_process_set, registered
from horovod.tensorflow import keras_optimizers
from horovod.tensorflow.adasum import DistributedAdasumOptimizer
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.gradient_aggregation import GradientAggregation
from horovod.tensorflow.gradients import Reduction
from horovod.tensorflow.util import _executing_eagerly, v1
from horovod.tensorflow.wrapped import WrappedOptimizer

_LegacyOptimizer = v1.train.Optimizer


def DistributedOptimizer(optimizer, name=None, use_locking=False, device_dense="",
                         device_sparse="", compression=Compression.none, sparse_as_dense=False,
                         backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0,
                         average_aggregated_gradients=False, num_groups=0, groups=None,
                         process_set=global_process_set, scale_local_gradients=True):
    """An optimizer like the given one whose gradients are those of all ranks.

    optimizer: a tf.train.Optimizer (tf.compat.v1.train), or one of Keras; for the latter see
    horovod.tensorflow.keras.
    compression: Compression.none or Compression.fp16. sparse_as_dense: make sparse gradients dense.
    backward_passes_per_step: how many passes' gradients are added up before they are reduced;
    average_aggregated_gradients: and divided by that number. op: Average or Sum; or
    Adasum, of the changes of each rank's own step (not for Keras' optimizers).
    gradient_predivide_factor: with Average, gradients are divided by it before the sum and
    multiplied after. groups: a number of groups, or lists of variables, that are reduced as a whole.
    process_set: the ranks whose gradients are meant. register_local_var(variable) of the result
    leaves its gradient alone, divided by the number of ranks if scale_local_gradients.
    device_dense, device_sparse: Horovod's; reductions are done in host memory.
    """
    groups = groups if groups is not None else (num_groups or None)
    check_arguments(op, gradient_predivide_factor, groups)
    check_plain(optimizer)
    if op == Adasum:
        if not isinstance(optimizer, _LegacyOptimizer):
            raise ValueError("op == Adasum is not supported yet with Keras")
        if average_aggregated_gradients:
            raise ValueError("Adasum does not support average_aggregated_gradients == True")
        registered(process_set)
        return DistributedAdasumOptimizer(optimizer, name, use_locking, device_dense, device_sparse,
                                          compression, backward_passes_per_step, process_set)
    if not isinstance(optimizer, _LegacyOptimizer):
        saving.install(tf.keras)
        return keras_optimizers.distributed(
            tf.keras, optimizer, name, backward_passes_per_step, average_aggregated_gradients,
            compression=compression, sparse_as_dense=sparse_as_dense, op=op,
            gradient_predivide_factor=gradient_predivide_factor, groups=groups,
            process_set=process_set, scale_local_gradients=scale_local_gradients)
    if backward_passes_per_step > 1 and _executing_eagerly():
        raise ValueError("horovod: backward_passes_per_step > 1 of a tf.compat.v1.train optimizer "
                         "needs a graph: use a Keras optimizer in eager execution")
    name = name or "Distributed%s" % type(optimizer).__name__
    reduction = Reduction(name, compression, sparse_as_dense, op, gradient_predivide_factor, groups,
                          process_set, scale_local_gradients)
    aggregation = None if backward_passes_per_step == 1 else GradientAggregation(
        reduction, backward_passes_per_step, average_aggregated_gradients, sparse_as_dense, name)
    return _DistributedOptimizer(optimizer, name, use_locking, reduction, aggregation)


class _DistributedOptimizer(WrappedOptimizer):
    """The result of DistributedOptimizer() for a tf.train.Optimizer."""

    def __init__(self, optimizer, name, use_locking, reduction, aggregation):
        super(_DistributedOptimizer, self).__init__(optimizer, name, use_locking)
        self._reduction, self._agg_helper = reduction, aggregation

    def register_local_var(self, var):
        """Its gradients stay this rank's."""
        self._reduction.register_local(var)

    def compute_gradients(self, *args, **kwargs):
        """The wrapped optimizer's, with the gradients of all ranks."""
        computed = self._optimizer.compute_gradients(*args, **kwargs)
        if not computed:
            return computed
        gradients, variables = zip(*computed)
        reduce_all = self._agg_helper.compute if self._agg_helper else self._reduction.reduce
        return list(zip(reduce_all(list(gradients), list(variables)), variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The wrapped optimizer's; with backward_passes_per_step in the last pass only."""
        grads_and_vars = list(grads_and_vars)

        def step():
            return self._optimizer.apply_gradients(grads_and_vars, global_step=global_step,
                                                   name=name)
        if not self._agg_helper:
            return step()

        def skip():
            return None if global_step is None else global_step.assign_add(1)
        return self._agg_helper.apply(step, skip,
                                      [gradient for gradient, _ in grads_and_vars])
