# SPDX-License-Identifier: Apache-2.0
"""libbatchai_tensorflow: allreduces in graphs without Python, for TensorFlow 2.13 and newer on CPUs.

Where it cannot be loaded, operations go through functions of Python (bridge.py). HOROVOD_LOG_LEVEL=debug
makes rank 0 say which.
"""
import ctypes
import os
import sys

import tensorflow as tf

from horovod.common import basics, library as collectives
from horovod.common.exceptions import HorovodInternalError
from horovod.common.operations import library_type
from horovod.tensorflow.ops import started
from horovod.tensorflow.util import VERSION, _executing_eagerly, untranslated

_NAME = "libbatchai_tensorflow.so"
_OLDEST = (2, 13)  # its kernels may be asynchronous
_WAITER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t,
                           ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
_library = None  # once it is loaded: its functions, and TensorFlow's module of its operations
_problem = None  # why the library could not be loaded; None: loaded, or not tried yet


@untranslated
def takes(tensors, op, factors):
    """Whether reduce_each() can have these tensors, here and now."""
    if _executing_eagerly() or not _load():
        return False
    return all(library_type(tensor.dtype.name, op, factors) is not None
               for tensor in tensors) and not _on_gpu()


@untranslated
def reduce_each(tensors, names, op, factors, process_set, verb):
    """As common.reduce_each()."""
    library, module = _library
    queue = basics.queue(process_set)
    number = process_set.process_set_id
    queue.lend(lambda handle: library.batchai_tensorflow_set_queue(number, handle))
    with tf.device("/cpu:0"):
        turn = tf.compat.v1.placeholder_with_default(tf.constant(0), [])
        submitted = [module.batchai_submit(
            tensor=tensor, turn=turn, tensor_name="" if name is None else "%s.%s" % (verb, name),
            reduce_op=op, prescale_factor=repr(factors[0]), postscale_factor=repr(factors[1]),
            process_set=number) for tensor, name in zip(tensors, names)]
        return list(module.batchai_wait(numbers=[one.number for one in submitted],
                                        buffers=[one.buffer for one in submitted]))


@untranslated
def awaited(numbers):
    """The numbers of Python's operations as tensors that are there once these have ended.

    Where that cannot be, the numbers themselves.
    """
    if not _load():
        return numbers
    return list(_library[1].batchai_await(numbers=numbers))


def _on_gpu():
    return bool(tf.config.list_physical_devices("GPU"))


def _load():
    global _library, _problem
    if _library is None and _problem is None:
        try:
            _library = _try()
        except (OSError, AttributeError, tf.errors.OpError, HorovodInternalError) as error:
            _problem = str(error)
        if os.environ.get("HOROVOD_LOG_LEVEL", "").lower() in ("trace", "debug") and (
                basics.rank() == 0):
            sys.stderr.write("horovod: allreduces in TensorFlow's graphs go through %s\n" % (
                _NAME if _library else "functions of Python: %s" % _problem))
    return _library is not None


def _try():
    if VERSION < _OLDEST:
        raise OSError("TensorFlow %d.%d is older than %d.%d" % (VERSION + _OLDEST))
    path = os.environ.get("BATCHAI_TENSORFLOW_LIBRARY") or _beside()
    if not os.path.exists(path):
        raise OSError("%s not found" % path)
    collectives.load()  # with care; TensorFlow's loader finds it loaded
    module = tf.load_op_library(path)
    library = ctypes.CDLL(path)
    library.batchai_tensorflow_set_queue.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    library.batchai_tensorflow_set_queue.restype = None
    library.batchai_tensorflow_set_waiter.argtypes = [_WAITER]
    library.batchai_tensorflow_set_waiter.restype = None
    library.batchai_tensorflow_set_waiter(_wait_for)
    if library.batchai_tensorflow_is_registered() != 1:
        raise OSError("TensorFlow refused the operations of %s" % path)
    return library, module


@_WAITER
def _wait_for(numbers, count, message, size):
    problem = started.wait([numbers[index] for index in range(count)])
    if problem is None:
        return 0
    text = problem.encode("utf-8", "replace")[:size]
    ctypes.memmove(message, text, len(text))
    return 1


def _beside():
    """Where the package's tree has it: batchai/python/horovod/tensorflow/ops/native.py."""
    folder = os.path.abspath(__file__)
    for _ in range(5):
        folder = os.path.dirname(folder)
    return os.path.join(folder, _NAME)
