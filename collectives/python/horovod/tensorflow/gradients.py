# SPDX-License-Identifier: Apache-2.0
"""Reduces TensorFlow's gradients: the ranks' instead of this rank's."""
import tensorflow as tf

from horovod.common import gradients as common
from horovod.common.compression import compressed
from horovod.common.operations import Average, Sum
from horovod.common.util import split_list
from horovod.tensorflow.ops.operations import allgather, allreduce_group, reduce_each
from horovod.tensorflow.util import _executing_eagerly, reference, v1


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


class Reduction(common.Reduction):
    """The way from one rank's gradients to the ranks', for TensorFlow's tensors."""

    def key(self, variable):
        return reference(variable)

    def taken(self, gradient):
        dense = is_sparse(gradient) and self._sparse_as_dense
        return tf.convert_to_tensor(gradient) if dense else gradient

    def divided(self, gradient, number):
        if is_sparse(gradient):
            return tf.IndexedSlices(gradient.values / number, gradient.indices,
                                    gradient.dense_shape)
        return gradient / number

    def reduce_all(self, gradients, numbers, variables):
        results = [reduce_sparse(gradient, self._op, self._process_set) if is_sparse(gradient)
                   else None for gradient in gradients]
        dense = [place for place, result in enumerate(results) if result is None]
        if dense:
            reduced = self._reduce_dense(*[[each[place] for place in dense]
                                           for each in (gradients, numbers, variables)])
            for place, gradient in zip(dense, reduced):
                results[place] = gradient
        return results

    def _reduce_dense(self, gradients, numbers, variables):
        scope = self._name + "_Allreduce"
        if not _executing_eagerly():
            scope = v1.get_default_graph().unique_name(scope)
        together = self._grouped(variables)

        def reduce(tensors):
            if together is None:
                names = ["%s.%d" % (scope, number) for number in numbers]
                return reduce_each(tensors, names, self._op, self._factors, self._process_set,
                                   "gradient")
            results = [None] * len(tensors)
            for index, places in enumerate(together):
                name = "%s.group.%d" % (scope, index)
                for place, result in zip(places, allreduce_group(
                        [tensors[place] for place in places], name, self._op, self._factors[0],
                        self._factors[1], True, self._process_set)):
                    results[place] = result
            return results

        return compressed(self._compression, [tf.convert_to_tensor(gradient)
                                              for gradient in gradients], reduce)

    def _grouped(self, variables):
        """Lists of places in variables, each reduced as a whole; None: groups are not asked for."""
        if self._groups is None:
            return None
        places = list(range(len(variables)))
        if not isinstance(self._groups, list):
            return [part for part in split_list(places, min(self._groups, len(places))) if part]
        group_of = {reference(variable): index for index, group in enumerate(self._groups)
                    for variable in group}
        found, alone = {}, []
        for place, variable in enumerate(variables):
            index = group_of.get(reference(variable))
            if index is None:
                alone.append([place])
            else:
                found.setdefault(index, []).append(place)
        return [found[index] for index in sorted(found)] + alone
