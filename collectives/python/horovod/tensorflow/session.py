# SPDX-License-Identifier: Apache-2.0
"""Hooks for TensorFlow's sessions and estimators."""
import tensorflow as tf

from horovod.tensorflow.functions import broadcast_global_variables
from horovod.tensorflow.util import v1

# tf.estimator may be missing, or loaded late: tf.compat.v1.train has the same class.
_SessionRunHook = v1.train.SessionRunHook


class BroadcastGlobalVariablesHook(_SessionRunHook):
    """Gives every rank root_rank's variables once they are initialized. device: Horovod's."""

    def __init__(self, root_rank, device=""):
        super(BroadcastGlobalVariablesHook, self).__init__()
        self.root_rank, self.device = root_rank, device
        self.bcast_op = None

    def begin(self):
        if self.bcast_op is None or self.bcast_op.graph is not v1.get_default_graph():
            with tf.device(self.device):
                self.bcast_op = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session, coord):
        session.run(self.bcast_op)
