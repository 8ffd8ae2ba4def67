# SPDX-License-Identifier: Apache-2.0
"""The names that horovod.keras and horovod.tensorflow.keras offer, each for its Keras."""
from horovod._keras import callbacks as _callbacks, elastic as _elastic, saving as _saving
from horovod._keras.interface import Adasum, Average, Interface as _Interface, Sum
from horovod.common import elastic as _common_elastic
from horovod.common.basics import (ccl_built, cross_rank, cross_size, cuda_built, ddl_built,
                                   gloo_built, gloo_enabled, init, is_initialized, local_rank,
                                   local_size, mpi_built, mpi_enabled, mpi_threads_supported,
                                   nccl_built, rank, rocm_built, shutdown, size, start_timeline,
                                   stop_timeline)
from horovod.common.process_sets import (ProcessSet, add_process_set, global_process_set,
                                         remove_process_set)

_OF_INTERFACE = ("Compression", "DistributedOptimizer", "PartialDistributedOptimizer", "allgather",
                 "allreduce", "broadcast", "broadcast_global_variables", "load_model",
                 "reducescatter")


def names(keras):
    """The names of the package itself, for a Keras. Models of that Keras are saved safely from now on."""
    _saving.install(keras)
    interface = _Interface(keras)
    found = {name: value for name, value in globals().items()
             if not name.startswith("_") and name not in ("names", "callbacks", "elastic")}
    found.update((name, getattr(interface, name)) for name in _OF_INTERFACE)
    return found


def callbacks(keras, module):
    """The names of its module ``callbacks``."""
    return _classes(keras, module, (_callbacks.BroadcastGlobalVariables, _callbacks.MetricAverage,
                                    _callbacks.LearningRateSchedule, _callbacks.LearningRateWarmup))


def elastic(keras, module):
    """The names of its module ``elastic``."""
    found = _classes(keras, module, (_elastic.CommitState, _elastic.UpdateBatchState,
                                     _elastic.UpdateEpochState))
    found["KerasState"] = _elastic.KerasState
    found["run"] = _run
    return found


def _run(func):
    """Decorates func(state, ...): it goes on from the state that an earlier attempt committed."""
    return _common_elastic.run_fn(func, lambda: None)


def _classes(keras, module, made_of):
    """A callback of that Keras for each class, whose name ends with Callback."""
    return {one.__name__ + "Callback": type(one.__name__ + "Callback", (one, keras.callbacks.Callback), {
        "__doc__": one.__doc__, "__module__": module, "_keras": keras}) for one in made_of}
