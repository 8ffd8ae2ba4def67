# SPDX-License-Identifier: Apache-2.0
"""DistributedAdasumOptimizer: each rank steps by its own gradients, and Adasum combines the changes."""
import tensorflow as tf

from horovod.common.operations import Adasum
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.ops.operations import reduce_each
from horovod.tensorflow.util import _executing_eagerly, own_variables
from horovod.tensorflow.wrapped import WrappedOptimizer


class DistributedAdasumOptimizer(WrappedOptimizer):
    """A tf.train.Optimizer like the given one, whose steps on all ranks are combined.

    backward_passes_per_step: after how many of the rank's own steps. The other arguments are
    DistributedOptimizer's, which makes this one for op=Adasum.
    """

    def __init__(self, optimizer, name=None, use_locking=False, device_dense="", device_sparse="",
                 compression=Compression.none, backward_passes_per_step=1,
                 process_set=global_process_set):
        name = name or "DistributedDelta%s" % type(optimizer).__name__
        super(DistributedAdasumOptimizer, self).__init__(optimizer, name, use_locking)
        self._compression = compression
        self._passes, self._process_set = backward_passes_per_step, process_set
        self._own_name = name
        self._counter = None  # a variable: steps since ranks were combined
        self._starts = []  # variables: those of the model when ranks were combined

    def compute_gradients(self, *args, **kwargs):
        """The wrapped optimizer's, of this rank."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The wrapped optimizer's; then, if it is time, the changes of all ranks together."""
        grads_and_vars = list(grads_and_vars)
        if not self._process_set.included() or self._process_set.size() == 1:
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        variables = [variable for gradient, variable in grads_and_vars if gradient is not None]
        self._prepare(variables)
        gradients = [gradient for gradient, _ in grads_and_vars if gradient is not None]
        with tf.control_dependencies(gradients):
            started = self._when(0, lambda: [start.assign(variable.read_value()) for start, variable
                                             in zip(self._starts, variables)])
        with tf.control_dependencies(_waited(started)):
            step = self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        with tf.control_dependencies(_waited(step)):
            counted = self._counter.assign_add(1)
        with tf.control_dependencies(_waited(counted)):
            combined = self._when(self._passes, lambda: self._combine(variables))
        with tf.control_dependencies(_waited(combined)):
            return tf.group(combined)

    def _prepare(self, variables):
        if self._counter is not None:
            return
        with own_variables(self._own_name) as new_variable:
            self._counter = new_variable(tf.constant(0), "steps")
            self._starts = [new_variable(tf.zeros(variable.shape, variable.dtype.base_dtype),
                                         "start_%d" % number)
                            for number, variable in enumerate(variables)]

    def _when(self, steps, work):
        """Calls work() after so many steps since the last combination; returns the operations to wait for."""
        def done():
            with tf.control_dependencies(_waited(work())):
                return tf.constant(True)
        return tf.cond(tf.equal(self._counter.read_value(), steps), done, lambda: tf.constant(False))

    def _combine(self, variables):
        packed = [self._compression.compress(variable.read_value() - start.read_value())
                  for variable, start in zip(variables, self._starts)]
        names = ["%s.%d" % (self._own_name, number) for number in range(len(packed))]
        changes = [self._compression.decompress(change, context) for change, (_, context) in zip(
            reduce_each([change for change, _ in packed], names, Adasum,
                        process_set=self._process_set), packed)]
        assigned = [variable.assign(start.read_value() + change)
                    for variable, start, change in zip(variables, self._starts, changes)]
        with tf.control_dependencies(_waited(assigned)):
            return [self._counter.assign(0)]


def _waited(values):
    """The operations for a control dependency of a graph; eagerly, all are done already."""
    if _executing_eagerly():
        return []
    return values if isinstance(values, (list, tuple)) else [values]
