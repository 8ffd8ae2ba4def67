# SPDX-License-Identifier: Apache-2.0
"""The names that horovod.keras and horovod.tensorflow.keras offer, each for its Keras."""
from horovod._keras import callbacks as _callbacks, elastic as _elastic
from horovod._keras.interface import Interface
from horovod.common import basics, operations, saving
from horovod.common.elastic import run
from horovod.common.models import KerasState

_OF_OPERATIONS = ("Adasum", "Average", "Sum")
_OF_INTERFACE = ("Compression", "DistributedOptimizer", "PartialDistributedOptimizer", "allgather",
                 "allreduce", "broadcast", "broadcast_global_variables", "load_model",
                 "reducescatter")


def names(keras):
    """The names of the package itself, for a Keras. Models of that Keras are saved safely from now on."""
    saving.install(keras)
    interface = Interface(keras)
    listed = ((basics, basics.__all__), (operations, _OF_OPERATIONS), (interface, _OF_INTERFACE))
    return {name: getattr(owner, name) for owner, names in listed for name in names}


def callbacks(keras, module):
    """The names of its module ``callbacks``."""
    return _classes(keras, module, (_callbacks.BroadcastGlobalVariables, _callbacks.MetricAverage,
                                    _callbacks.LearningRateSchedule, _callbacks.LearningRateWarmup))


def elastic(keras, module):
    """The names of its module ``elastic``."""
    found = _classes(keras, module, (_elastic.CommitState, _elastic.UpdateBatchState,
                                     _elastic.UpdateEpochState))
    found.update(KerasState=KerasState, run=run)
    return found


def _classes(keras, module, made_of):
    """A callback of that Keras for each class, whose name ends with Callback."""
    return {one.__name__ + "Callback": type(one.__name__ + "Callback", (one, keras.callbacks.Callback), {
        "__doc__": one.__doc__, "__module__": module, "_keras": keras}) for one in made_of}
