# SPDX-License-Identifier: Apache-2.0
"""``hvd.elastic`` for tf.keras (``horovod.common.elastic`` says how jobs go on)."""
from tensorflow import keras

from horovod._keras import elastic as _impl
from horovod._keras.elastic import KerasState
from horovod.common.elastic import run_fn


def run(func):
    """Decorates func(state, ...): it goes on from the state that an earlier attempt committed."""
    return run_fn(func, lambda: None)


class CommitStateCallback(_impl.CommitState, keras.callbacks.Callback):
    __doc__ = _impl.CommitState.__doc__


class UpdateBatchStateCallback(_impl.UpdateBatchState, keras.callbacks.Callback):
    __doc__ = _impl.UpdateBatchState.__doc__


class UpdateEpochStateCallback(_impl.UpdateEpochState, keras.callbacks.Callback):
    __doc__ = _impl.UpdateEpochState.__doc__
