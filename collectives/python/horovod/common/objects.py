# SPDX-License-Identifier: Apache-2.0
"""Objects from one rank to all, or from all to all, for frameworks that have numpy."""
import pickle

import numpy

from horovod.common import arrays, basics
from horovod.common.process_sets import global_process_set


def _bytes_array(data):
    return numpy.frombuffer(bytearray(data), "uint8")


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """root_rank's object, on every rank: anything that pickle can carry; the others' is ignored."""
    name = name or "object"
    is_root = basics.rank() == root_rank
    data = pickle.dumps(obj, 2) if is_root else b""
    size = arrays.wait(arrays.broadcast([numpy.array([len(data)], "int64")], root_rank,
                                        name + ".size", process_set))[0]
    content = _bytes_array(data) if is_root else numpy.empty(int(size[0]), "uint8")
    content = arrays.wait(arrays.broadcast([content], root_rank, name + ".content", process_set))[0]
    return obj if is_root else pickle.loads(content.tobytes())


def allgather_object(obj, name=None, process_set=global_process_set):
    """A list of every rank's object, in order of rank: anything that pickle can carry."""
    content, rows = arrays.wait(arrays.allgather([_bytes_array(pickle.dumps(obj, 2))],
                                                 (name or "object") + ".content", process_set))
    objects, begin = [], 0
    for size in rows[0]:
        objects.append(pickle.loads(content[begin:begin + int(size)].tobytes()))
        begin += int(size)
    return objects
