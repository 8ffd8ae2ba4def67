# SPDX-License-Identifier: Apache-2.0
"""Horovod's callbacks, for a Keras that a derived class names: ``_keras``."""
import atexit
import numbers
import sys

import numpy

from horovod._keras import values
from horovod.common import basics
from horovod.common.objects import broadcast_object

_waiting = set()  # broadcast callbacks that no model has been given


class _Callback(object):
    _keras = None


class BroadcastGlobalVariables(_Callback):
    """Gives all ranks root_rank's variables, as soon as all of them exist: after the first batch.

    In a graph also before it, as Horovod until 0.16, those that exist then. local_variables: a variable or several that stay each rank's. device: Horovod's.
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

    def on_train_begin(self, logs=None):
        # With a generator, or a model without input shapes, some variables come with the first batch.
        if not self.broadcast_done and values.in_graph(self._keras) and values.same_in_graph():
            self._broadcast()

    def on_batch_end(self, batch, logs=None):
        if not self.broadcast_done:
            self._broadcast()
            self.broadcast_done = True

    def _broadcast(self):
        values.broadcast_model(self._keras, self.model, self.root_rank,
                               lambda variable: id(variable) in self._local_ids)


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


def _may_be(name, value):
    """Whether an argument of this name may have this value, where its place does not say its name."""
    if name in ("staircase", "momentum_correction"):
        return value in (0, 1)
    if value is None:
        return name in ("end_epoch", "steps_per_epoch")
    if isinstance(value, bool):
        return name == "verbose"
    if name in ("initial_lr", "multiplier"):
        return isinstance(value, numbers.Real) or (name == "multiplier" and callable(value))
    # A script may read an epoch as a float; 1.0 is a factor or a learning rate.
    return isinstance(value, numbers.Integral) or (
        isinstance(value, numbers.Real) and value > 1 and value % 1 == 0)


def _by_name(callback, names, args, kwargs):
    """The arguments by name. Horovod 0.21 put initial_lr first; before, it came last, or not at all.

    Raises ValueError where both orders fit, and TypeError where neither does.
    """
    orders = ("initial_lr",) + names, names + ("initial_lr",)
    found = [one for one in (_placed(order, args, kwargs) for order in orders) if one is not None]
    if not found:
        raise TypeError("horovod: %s: expected the arguments %s, got %s"
                        % (callback, ", ".join(orders[0]), _shown(args, kwargs)))
    if found[0] != found[-1]:
        raise ValueError(
            "horovod: %s(%s) has two meanings: its arguments were (%s, ...) until Horovod "
            "0.20 and are (initial_lr, %s, ...) since 0.21. Name the arguments"
            % (callback, _shown(args, kwargs), ", ".join(names[:2]), names[0]))
    return found[0]


def _placed(order, args, kwargs):
    """The arguments by name, where they fit this order; else None."""
    found = dict(zip(order, args), **kwargs)
    if len(found) < len(args) + len(kwargs) or not set(found) <= set(order):
        return None
    if "multiplier" in order and "multiplier" not in found:
        return None
    fits = all(_may_be(name, value) for name, value in zip(order, args))
    return found if fits else None


def _shown(args, kwargs):
    return ", ".join([repr(value) for value in args] + ["%s=%r" % pair for pair in kwargs.items()])


class LearningRateSchedule(_Callback):
    """Sets the learning rate to initial_lr * multiplier from start_epoch until before end_epoch.

    Arguments: initial_lr, multiplier, start_epoch=0, end_epoch=None, staircase=True,
    momentum_correction=True, steps_per_epoch=None; or as until Horovod 0.20, without initial_lr or
    with it at the end. Without it, it is rank 0's learning rate when the training begins.
    multiplier: a function of the epoch, or a number. With initial_lr the number is raised to the
    power of the epochs since start_epoch; without, it is the factor for all of them. staircase=False:
    the learning rate changes with every batch, and the epoch is a fraction; this needs
    steps_per_epoch if Keras does not tell it. momentum_correction: the momentum is scaled like the
    learning rate, for the batch in which that changes.
    """

    _names = ("multiplier", "start_epoch", "end_epoch", "staircase", "momentum_correction",
              "steps_per_epoch")

    def __init__(self, *args, **kwargs):
        super(LearningRateSchedule, self).__init__()
        self._set(**_by_name(type(self).__name__, self._names, args, kwargs))

    def _set(self, multiplier, initial_lr=None, start_epoch=0, end_epoch=None, staircase=True,
             momentum_correction=True, steps_per_epoch=None):
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.staircase, self.momentum_correction = staircase, momentum_correction
        self.steps_per_epoch, self.current_epoch = steps_per_epoch, 0
        self._takes_rate = initial_lr is None  # from the optimizer, with each training
        if callable(multiplier):
            self.multiplier = multiplier
        elif self._takes_rate:
            self.multiplier, self.staircase = (lambda epoch: multiplier), True
        else:
            self.multiplier = lambda epoch: multiplier ** (epoch - start_epoch)
        self._restored = None  # the momentum, for the end of the batch

    def on_train_begin(self, logs=None):
        if self._takes_rate:  # the same on all ranks, also where only rank 0 has loaded a model
            self.initial_lr = broadcast_object(self._read(), 0, "learning_rate.initial")
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
        if not (self.momentum_correction and momentum.exists() and momentum.get() and old):
            return
        if momentum.is_variable():
            self._restored = momentum.get()
            momentum.set(self._restored * new / old)
        else:
            values.scale_velocities(self.model, new / old)


class LearningRateWarmup(LearningRateSchedule):
    """Raises the learning rate from initial_lr / size() to initial_lr in warmup_epochs.

    Arguments: initial_lr, warmup_epochs=5, momentum_correction=True, steps_per_epoch=None,
    verbose=0; or without initial_lr, as of LearningRateSchedule.
    """

    _names = ("warmup_epochs", "momentum_correction", "steps_per_epoch", "verbose")

    def _set(self, warmup_epochs=5, verbose=0, **others):
        def multiplier(epoch):
            epoch += 1.0 / self.steps_per_epoch  # so that an epoch ends with a round number
            return 1.0 / basics.size() * (epoch * (basics.size() - 1) / warmup_epochs + 1)
        super(LearningRateWarmup, self)._set(multiplier, end_epoch=warmup_epochs, staircase=False,
                                             **others)
        self.verbose = verbose

    def on_epoch_end(self, epoch, logs=None):
        super(LearningRateWarmup, self).on_epoch_end(epoch, logs)
        if epoch == self.end_epoch - 1 and self.verbose > 0 and basics.rank() == 0:
            print("\nEpoch %d: finished gradual learning rate warmup to %g."
                  % (epoch + 1, self._read()))
