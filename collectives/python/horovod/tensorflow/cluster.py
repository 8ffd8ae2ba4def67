# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's own idea of the job, which Horovod's ranks must not have."""
import json
import os


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
