# SPDX-License-Identifier: Apache-2.0
"""The callbacks that commit the state of a Keras model for elastic jobs (common/models.py)."""


class CommitState(object):
    """Commits the state every batches_per_commit batches, and after each epoch."""

    def __init__(self, state, batches_per_commit=1):
        super(CommitState, self).__init__()
        self.state, self.batches_per_commit = state, batches_per_commit
        self._left = batches_per_commit

    def on_train_begin(self, logs=None):
        self._left = self.batches_per_commit

    def on_batch_end(self, batch, logs=None):
        self._left -= 1
        if self._left == 0:
            self._commit()

    def on_epoch_end(self, epoch, logs=None):
        self._commit()

    def _commit(self):
        if hasattr(self.model, "jax_state_sync"):
            self.model.jax_state_sync()
        self.state.commit()
        self._left = self.batches_per_commit


class UpdateBatchState(object):
    """Keeps ``state.batch``: the batches that are done of an epoch, in all attempts together.

    No callback can shorten an epoch of Keras: a script that goes on in the middle of one passes the
    steps that are left to fit().
    """

    def __init__(self, state):
        super(UpdateBatchState, self).__init__()
        self.state, self._before = state, 0

    def on_epoch_begin(self, epoch, logs=None):
        self._before = self.state.batch

    def on_batch_end(self, batch, logs=None):
        self.state.batch = self._before + batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self.state.batch = 0


class UpdateEpochState(object):
    """Keeps ``state.epoch``: the epochs that are done, in all attempts together.

    fit() may count this attempt's from 0 (``epochs=24 - state.epoch``), or go on from the earlier
    ones' (``initial_epoch=state.epoch``).
    """

    def __init__(self, state):
        super(UpdateEpochState, self).__init__()
        self.state, self._before = state, None

    def on_train_begin(self, logs=None):
        self._before = None

    def on_epoch_begin(self, epoch, logs=None):
        if self._before is None:
            self._before = self.state.epoch - epoch

    def on_epoch_end(self, epoch, logs=None):
        self.state.epoch = self._before + epoch + 1
