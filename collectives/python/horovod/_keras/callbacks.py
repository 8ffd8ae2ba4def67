# SPDX-License-Identifier: Apache-2.0
"""Horovod's callbacks, for a Keras that a derived class names: ``_keras``."""
import atexit
import sys

import numpy

from horovod._keras import values
from horovod.common import basics

_waiting = set()  # broadcast callbacks that no model has been given


class _Callback(object):
    _keras = None


class BroadcastGlobalVariables(_Callback):
    """Gives all ranks root_rank's variables after the first batch, when all of them exist.

    local_variables: a variable or several that stay each rank's. device: Horovod's.
    """

    def __init__(self, root_rank, device="", local_variables=None):
        super(BroadcastGlobalVariables, self).__init__()
        self.root_rank, self.broadcast_done = root_rank, False
        if local_variables is None:
            local_variables = []
        elif not isinstance(local_variables, (list, tuple, set)):
            local_variables = [local_variables]
        self._local_ids = {id(variable) for variable in local_variables}
        self._locals = list(local_variables)
        _note(self)

    def register_local_var(self, var):
        """Leaves the variable as each rank has it."""
        self._local_ids.add(id(var))
        self._locals.append(var)

    def set_model(self, model):
        _waiting.discard(id(self))
        super(BroadcastGlobalVariables, self).set_model(model)

    def on_batch_end(self, batch, logs=None):
        if not self.broadcast_done:
            values.broadcast_model(self._keras, self.model, self.root_rank,
                                   lambda variable: id(variable) in self._local_ids)
            self.broadcast_done = True


def _note(callback):
    if not _waiting and basics.is_initialized():
        _tell_at_exit()
    _waiting.add(id(callback))


_told = False


def _tell_at_exit():
    global _told
    if not _told and basics.rank() == 0 and basics.size() > 1:
        _told = True
        atexit.register(_tell)


def _tell():
    if _waiting:
        sys.stderr.write("horovod: a BroadcastGlobalVariablesCallback was made but never passed to "
                         "fit(): the ranks started from different weights. Pass callbacks=... to "
                         "fit()\n")


class MetricAverage(_Callback):
    """Averages the metrics of an epoch over the ranks; it comes before callbacks that use them."""

    def __init__(self, device=""):
        super(MetricAverage, self).__init__()

    def on_epoch_end(self, epoch, logs=None):
        if logs:
            logs.update(values.average(values.numbers_of(logs), "metric"))


class LearningRateSchedule(_Callback):
    """Sets the learning rate to initial_lr * multiplier from start_epoch until before end_epoch.

    multiplier: a function of the epoch, or a number that is raised to the power of the epochs since
    start_epoch. staircase=False: the learning rate changes with every batch, and the epoch is a
    fraction; this needs steps_per_epoch if Keras does not tell it. momentum_correction: the momentum
    is scaled like the learning rate, for the batch in which that changes.
    """

    def __init__(self, initial_lr, multiplier, start_epoch=0, end_epoch=None, staircase=True,
                 momentum_correction=True, steps_per_epoch=None):
        super(LearningRateSchedule, self).__init__()
        if initial_lr is None:
            raise ValueError("Parameter `initial_lr` is required")
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.staircase, self.momentum_correction = staircase, momentum_correction
        self.steps_per_epoch, self.current_epoch = steps_per_epoch, 0
        self.multiplier = multiplier if callable(multiplier) else (
            lambda epoch: multiplier ** (epoch - start_epoch))
        self._restored = None  # the momentum, for the end of the batch

    def on_train_begin(self, logs=None):
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self._steps()

    def on_epoch_begin(self, epoch, logs=None):
        self.current_epoch = epoch

    def on_batch_begin(self, batch, logs=None):
        if self.current_epoch < self.start_epoch or (
                self.end_epoch is not None and self.current_epoch >= self.end_epoch):
            return
        if not self.staircase:
            self._adjust(self.current_epoch + float(batch) / self.steps_per_epoch)
        elif batch == 0:
            self._adjust(self.current_epoch)

    def on_batch_end(self, batch, logs=None):
        if self._restored is not None:
            values.momentum(self._keras, self.model).set(self._restored)
            self._restored = None

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = numpy.float64(self._read())  # as values.average(), for TensorBoard's callback

    def _steps(self):
        params = self.params or {}
        if params.get("steps"):
            return params["steps"]
        if params.get("samples") and params.get("batch_size"):
            return params["samples"] // params["batch_size"]
        raise ValueError("Could not autodetect the number of steps per epoch. Please specify the "
                         "steps_per_epoch parameter to the %s()" % type(self).__name__)

    def _read(self):
        values.take_state(self.model)
        return values.learning_rate(self._keras, self.model).get()

    def _adjust(self, epoch):
        values.take_state(self.model)
        rate, momentum = (make(self._keras, self.model)
                          for make in (values.learning_rate, values.momentum))
        old, new = rate.get(), self.initial_lr * self.multiplier(epoch)
        rate.set(new)
        if self.momentum_correction and momentum.exists() and momentum.get() and old:
            self._restored = momentum.get()
            momentum.set(self._restored * new / old)


class LearningRateWarmup(LearningRateSchedule):
    """Raises the learning rate from initial_lr / size() to initial_lr in warmup_epochs."""

    def __init__(self, initial_lr, warmup_epochs=5, momentum_correction=True, steps_per_epoch=None,
                 verbose=0):
        def multiplier(epoch):
            epoch += 1.0 / self.steps_per_epoch  # so that an epoch ends with a round number
            return 1.0 / basics.size() * (epoch * (basics.size() - 1) / warmup_epochs + 1)
        super(LearningRateWarmup, self).__init__(
            initial_lr, multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch)
        self.verbose = verbose

    def on_epoch_end(self, epoch, logs=None):
        super(LearningRateWarmup, self).on_epoch_end(epoch, logs)
        if epoch == self.end_epoch - 1 and self.verbose > 0 and basics.rank() == 0:
            print("\nEpoch %d: finished gradual learning rate warmup to %g."
                  % (epoch + 1, self._read()))
