# SPDX-License-Identifier: Apache-2.0
"""The base of all optimizers that wrap one of TensorFlow's."""
from horovod.tensorflow.util import v1


class WrappedOptimizer(v1.train.Optimizer):
    """A tf.train.Optimizer around another one, whose slots and variables are the other one's."""

    _horovod_reduction = True

    def __init__(self, optimizer, name, use_locking):
        super(WrappedOptimizer, self).__init__(name=name, use_locking=use_locking)
        self._optimizer = optimizer

    def get_slot(self, *args, **kwargs):
        """The wrapped optimizer's."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        """The wrapped optimizer's."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args, **kwargs):
        """The wrapped optimizer's."""
        return self._optimizer.variables(*args, **kwargs)
