# SPDX-License-Identifier: Apache-2.0
"""allreduce and reducescatter as scripts call them: with compression, devices and sparse tensors."""
from horovod.common.compression import compressed
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.gradients import is_sparse, reduce_sparse
from horovod.tensorflow.mpi_ops import (Average, _allreduce, _grouped_allreduce,
                                        _grouped_reducescatter,
                                        handle_average_backwards_compatibility)
from horovod.tensorflow.ops.bridge import check_member
from horovod.tensorflow.util import to_tensors


def allreduce(tensor, average=None, device_dense="", device_sparse="",
              compression=Compression.none, op=None, prescale_factor=1.0, postscale_factor=1.0,
              name=None, process_set=global_process_set, ignore_name_scope=False):
    """The reduction of a tensor over all ranks: of the same shape and type on all of them.

    tensor: a tf.Tensor, tf.Variable or tf.IndexedSlices (the result has the rows of all ranks).
    op: Average (the default), Sum, Min, Max, Product, Adasum. average: the older way to say Average or Sum.
    The tensor is multiplied by prescale_factor before and the result by postscale_factor after.
    Sums and averages have gradients. device_dense, device_sparse: Horovod's; reductions are done in
    host memory.
    """
    op = handle_average_backwards_compatibility(op, average)
    check_member(process_set)
    if is_sparse(tensor):
        if (prescale_factor, postscale_factor) != (1.0, 1.0):
            raise NotImplementedError("horovod: factors of tf.IndexedSlices are not supported")
        return reduce_sparse(tensor, op, process_set, ignore_name_scope)
    return compressed(compression, to_tensors([tensor]), lambda sent: [_allreduce(
        sent[0], name, op, prescale_factor, postscale_factor, ignore_name_scope, process_set)])[0]


def grouped_allreduce(tensors, average=None, device_dense="", device_sparse="",
                      compression=Compression.none, op=None, prescale_factor=1.0,
                      postscale_factor=1.0, process_set=global_process_set,
                      ignore_name_scope=False, name=None):
    """allreduce() of a list of tensors, the dense ones all or none of them; a list."""
    tensors = list(tensors)
    sparse = iter([allreduce(tensor, average, device_dense, device_sparse, compression, op,
                             prescale_factor, postscale_factor, None, process_set,
                             ignore_name_scope) for tensor in tensors if is_sparse(tensor)])
    dense = iter(_allreduce_dense([tensor for tensor in tensors if not is_sparse(tensor)], average,
                                  compression, op, prescale_factor, postscale_factor, process_set,
                                  ignore_name_scope, name))
    return [next(sparse if is_sparse(tensor) else dense) for tensor in tensors]


def _allreduce_dense(tensors, average, compression, op, prescale_factor, postscale_factor,
                     process_set, ignore_name_scope, name):
    op = handle_average_backwards_compatibility(op, average)
    check_member(process_set)
    return compressed(compression, to_tensors(tensors),
                      lambda sent: _grouped_allreduce(sent, name, op, prescale_factor,
                                                      postscale_factor, ignore_name_scope,
                                                      process_set))


def reducescatter(tensor, device_dense="", compression=Compression.none, op=Average, name=None,
                  process_set=global_process_set, ignore_name_scope=False, prescale_factor=1.0,
                  postscale_factor=1.0):
    """This rank's rows of the reduction of a tensor over all ranks: the first ranks get one more."""
    return _reducescatter([tensor], compression, name, op, ignore_name_scope, process_set,
                          prescale_factor, postscale_factor)[0]


def grouped_reducescatter(tensors, device_dense="", compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0,
                          postscale_factor=1.0):
    """reducescatter() of a list of tensors, all or none of them; a list."""
    if not tensors:
        return tensors
    return _reducescatter(tensors, compression, None, op, False, process_set, prescale_factor,
                          postscale_factor)


def _reducescatter(tensors, compression, name, op, ignore_name_scope, process_set, *factors):
    check_member(process_set)
    return compressed(compression, to_tensors(tensors),
                      lambda sent: _grouped_reducescatter(sent, name, op, ignore_name_scope,
                                                          process_set, *factors))
