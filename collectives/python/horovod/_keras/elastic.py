# SPDX-License-Identifier: Apache-2.0
"""State of a Keras model for elastic jobs, and the callbacks that commit it."""
from horovod._keras import optimizers
from horovod.common.store import StoredState


class KerasState(StoredState):
    """State of a Keras model, of its optimizer (the model's by default), and of plain objects."""

    def __init__(self, model, optimizer=None, backend=None, **kwargs):
        self.model = model
        self.optimizer = optimizer or getattr(model, "optimizer", None)
        self.backend = backend
        super(KerasState, self).__init__(**kwargs)
        self._arrays = self._read()

    def _read(self):
        optimizer = optimizers.values(self.optimizer)
        return [self.model.get_weights(), optimizer]

    def _write(self, arrays):
        weights, optimizer = arrays
        if weights:
            self.model.set_weights(weights)
        optimizers.set_values(self.optimizer, optimizer, self.model)


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
    """Keeps ``state.batch``: an epoch that was left in the middle goes on with its other batches."""

    def __init__(self, state):
        super(UpdateBatchState, self).__init__()
        self.state, self._steps = state, None

    def on_train_begin(self, logs=None):
        self._steps = None

    def on_epoch_begin(self, epoch, logs=None):
        if self.params and self.params.get("steps"):
            if self._steps is None:
                self._steps = self.params["steps"]
            self.params["steps"] = self._steps - self.state.batch

    def on_batch_end(self, batch, logs=None):
        self.state.batch = batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self.state.batch = 0


class UpdateEpochState(object):
    """Keeps ``state.epoch``: the epochs that are done."""

    def __init__(self, state):
        super(UpdateEpochState, self).__init__()
        self.state = state

    def on_epoch_end(self, epoch, logs=None):
        self.state.epoch = epoch + 1
