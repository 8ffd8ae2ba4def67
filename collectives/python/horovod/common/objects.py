# SPDX-License-Identifier: Apache-2.0
"""Objects from one rank to all, or from all to all: anything that pickle can carry."""
import pickle

import numpy

from horovod.common import basics
from horovod.common.arrays import operations, wait
from horovod.common.process_sets import global_process_set

_PROTOCOL = getattr(pickle, "DEFAULT_PROTOCOL", 2)


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """root_rank's object, on every rank; the others' is ignored.

    name: of the operation; one name for all objects by default.
    """
    name = name or "object"
    is_root = basics.rank() == root_rank
    data = pickle.dumps(obj, _PROTOCOL) if is_root else b""
    (size,) = wait(operations.broadcast([numpy.array(len(data), "int64")], root_rank,
                                        name + ".size", process_set))
    content = numpy.frombuffer(data, "uint8") if is_root else numpy.empty(int(size), "uint8")
    (content,) = wait(operations.broadcast([content], root_rank, name + ".content", process_set))
    return obj if is_root else pickle.loads(content.tobytes())


def allgather_object(obj, name=None, process_set=global_process_set):
    """A list of every rank's object, in order of rank. name: as of broadcast_object()."""
    own = numpy.frombuffer(pickle.dumps(obj, _PROTOCOL), "uint8")
    content, rows = wait(operations.allgather([own], (name or "object") + ".content", process_set))
    ends = numpy.cumsum(rows[0])
    return [pickle.loads(content[end - size:end].tobytes()) for end, size in zip(ends, rows[0])]
