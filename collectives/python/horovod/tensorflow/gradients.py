# SPDX-License-Identifier: Apache-2.0
"""Reduces gradients for optimizers and tapes: the ranks' instead of this rank's."""
import tensorflow as tf

from horovod.common.operations import Adasum, Average, Sum
from horovod.common.process_sets import global_process_set, registered
from horovod.common.util import split_list
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.ops.exchanges import allgather
from horovod.tensorflow.ops.common import reduce_each
from horovod.tensorflow.ops.reductions import allreduce_group
from horovod.tensorflow.util import _executing_eagerly, reference, v1


def check_arguments(op, gradient_predivide_factor, groups):
    """Raises ValueError for wrong arguments of an optimizer or a tape."""
    if op not in (Average, Sum, Adasum):
        raise ValueError("horovod: op must be Average, Sum or Adasum")
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if groups is not None and not (isinstance(groups, list) or groups > 0):
        raise ValueError("groups should be a non-negative integer or a list of list of "
                         "tf.Variable.")


def is_sparse(gradient):
    """Whether it consists of some rows only."""
    return isinstance(gradient, tf.IndexedSlices)


def reduce_sparse(slices, op, process_set, ignore_name_scope=False):
    """The rows of all ranks together, which is their sum; tf.IndexedSlices."""
    if op not in (Average, Sum):
        raise NotImplementedError("horovod: only sums and averages of tf.IndexedSlices are supported")
    values = allgather(slices.values, None, ignore_name_scope, process_set)
    indices = allgather(slices.indices, None, ignore_name_scope, process_set)
    if op == Average:
        values = values / tf.cast(process_set.size(), values.dtype)
    return tf.IndexedSlices(values, indices, dense_shape=slices.dense_shape)


class Reduction(object):
    """The way from one rank's gradients to the ranks'. The arguments are DistributedOptimizer's."""

    def __init__(self, name, compression=Compression.none, sparse_as_dense=False, op=Average,
                 gradient_predivide_factor=1.0, groups=None, process_set=global_process_set,
                 scale_local_gradients=True):
        check_arguments(op, gradient_predivide_factor, groups)
        registered(process_set)
        self._name, self._compression = name, compression
        self._sparse_as_dense, self._op = sparse_as_dense, op
        self._factors = (1.0 / gradient_predivide_factor, float(gradient_predivide_factor))
        self._groups, self._process_set = groups, process_set
        self._scale_local = scale_local_gradients
        self._local = {}  # variables by their references, which are theirs as long as they live

    def register_local(self, variable):
        """Its gradients stay this rank's."""
        self._local[reference(variable)] = variable

    def is_local(self, variable):
        """Whether register_local() has had it."""
        return reference(variable) in self._local

    def reduce(self, gradients, variables):
        """The ranks' gradients, in the order of this rank's. None stays None."""
        gradients = list(gradients)
        if not self._process_set.included():
            return gradients
        dense = []
        for number, (gradient, variable) in enumerate(zip(gradients, variables)):
            if gradient is None:
                continue
            if is_sparse(gradient) and self._sparse_as_dense:
                gradient = tf.convert_to_tensor(gradient)
            if self._local and self.is_local(variable):
                gradients[number] = self._local_gradient(gradient)
            elif self._process_set.size() == 1:
                gradients[number] = gradient
            elif is_sparse(gradient):
                gradients[number] = reduce_sparse(gradient, self._op, self._process_set)
            else:
                gradients[number] = gradient
                dense.append(number)
        for numbers, reduced in self._reduce_dense(gradients, dense, variables):
            for number, gradient in zip(numbers, reduced):
                gradients[number] = gradient
        return gradients

    def _local_gradient(self, gradient):
        """As large a part of the step as on one rank (Horovod's pull request 3695)."""
        if not self._scale_local:
            return gradient
        size = float(self._process_set.size())
        if is_sparse(gradient):
            return tf.IndexedSlices(gradient.values / size, gradient.indices, gradient.dense_shape)
        return gradient / size

    def _reduce_dense(self, gradients, numbers, variables):
        """Pairs of a list of some of the numbers, and their gradients reduced."""
        if not numbers:
            return []
        scope = self._name + "_Allreduce"
        if not _executing_eagerly():
            scope = v1.get_default_graph().unique_name(scope)
        packed = [self._compression.compress(tf.convert_to_tensor(gradients[number]))
                  for number in numbers]
        tensors = [tensor for tensor, _ in packed]
        together = self._grouped(numbers, variables)
        if together is None:
            names = ["%s.%d" % (scope, number) for number in numbers]
            results = reduce_each(tensors, names, self._op, self._factors, self._process_set,
                                  "gradient")
        else:
            results = [None] * len(numbers)
            for index, places in enumerate(together):
                name = "%s.group.%d" % (scope, index)
                for place, result in zip(places, allreduce_group(
                        [tensors[place] for place in places], name, self._op, self._factors[0],
                        self._factors[1], True, self._process_set)):
                    results[place] = result
        return [(numbers, [self._compression.decompress(result, context)
                           for result, (_, context) in zip(results, packed)])]

    def _grouped(self, numbers, variables):
        """Lists of places in numbers, each reduced as a whole; None: groups are not asked for."""
        if self._groups is None:
            return None
        places = list(range(len(numbers)))
        if not isinstance(self._groups, list):
            return [part for part in split_list(places, min(self._groups, len(places))) if part]
        group_of = {reference(variable): index for index, group in enumerate(self._groups)
                    for variable in group}
        found, alone = {}, []
        for place, number in enumerate(numbers):
            index = group_of.get(reference(variables[number]))
            if index is None:
                alone.append([place])
            else:
                found.setdefault(index, []).append(place)
        return [found[index] for index in sorted(found)] + alone
