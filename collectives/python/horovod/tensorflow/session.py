# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's sessions and estimators: a hook, and what they must not know of the job."""
import json
import os

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


def leave_launchers_cluster():
    """Removes TF_CONFIG where batchai-launch has set it; one that the user has set stays.

    An Estimator would take the ranks for one training by TensorFlow's own means, with a chief.
    """
    config = os.environ.get("TF_CONFIG")
    try:
        set_by_launch = json.loads(os.environ.get("BATCHAI_OF_LAUNCH", "{}"))
    except ValueError:
        return
    if config is not None and isinstance(set_by_launch, dict) and set_by_launch.get("TF_CONFIG") == config:
        del os.environ["TF_CONFIG"]
