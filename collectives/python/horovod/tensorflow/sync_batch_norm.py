# SPDX-License-Identifier: Apache-2.0
"""SyncBatchNormalization: a batch normalization by the moments of all ranks' batches."""
import tensorflow as tf

from horovod.common import basics
from horovod.common.operations import Sum
from horovod.tensorflow.ops.operations import allreduce_one

_Base = tf.keras.layers.BatchNormalization


class SyncBatchNormalization(_Base):
    """tf.keras.layers.BatchNormalization whose batch is that of all ranks together.

    fused must not be True: TensorFlow's fused operation has a rank's batch only.
    """

    def __init__(self, fused=False, **kwargs):
        if fused in (True, None):
            raise ValueError("SyncBatchNormalization does not support fused=True.")
        if hasattr(_Base, "_fused_can_be_used"):  # before Keras 3
            kwargs["fused"] = False
        super(SyncBatchNormalization, self).__init__(**kwargs)

    def _calculate_mean_and_var(self, inputs, reduction_axes, keep_dims, *args, **kwargs):
        """Of Keras before 3: this rank's moments, which become all ranks'."""
        mean, variance = super(SyncBatchNormalization, self)._calculate_mean_and_var(
            inputs, reduction_axes, keep_dims, *args, **kwargs)
        return _together(mean, variance)

    def _moments(self, inputs, *args, **kwargs):
        """The same of Keras 3 and of old ones."""
        mean, variance = super(SyncBatchNormalization, self)._moments(inputs, *args, **kwargs)
        if hasattr(_Base, "_calculate_mean_and_var"):
            return mean, variance
        return _together(mean, variance)


def _together(mean, variance):
    """The moments of all ranks' batches, which are as large, from those of each."""
    if basics.size() == 1:
        return mean, variance
    both = tf.stack([mean, variance + tf.square(mean)])  # of the squares: they have a mean
    both = allreduce_one(both, op=Sum) / tf.cast(basics.size(), both.dtype)
    mean = both[0]
    return mean, both[1] - tf.square(mean)
