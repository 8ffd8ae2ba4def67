# SPDX-License-Identifier: Apache-2.0
"""Gradients of several backward passes, added up on this rank and reduced once."""
import tensorflow as tf

from horovod.tensorflow.gradients import is_sparse
from horovod.tensorflow.util import IS_TF2, own_variables


class GradientAggregation(object):
    """backward_passes_per_step for an optimizer: compute(), then apply(), in every pass.

    ``counter`` is a variable: the passes since the last step.
    """

    def __init__(self, reduction, passes, average, sparse_as_dense, name):
        self._reduction, self._passes, self._average = reduction, passes, average
        self._sparse_as_dense, self._name = sparse_as_dense, name
        self.counter = None
        self._sums = []  # a variable for each gradient; None if it has none

    def register_local_var(self, variable):
        """Its gradients stay this rank's."""
        self._reduction.register_local(variable)

    def compute(self, gradients, variables):
        """The ranks' gradients in the last pass; unused values in other passes."""
        gradients = [self._dense(gradient) for gradient in gradients]
        self._prepare(gradients, variables)
        added = [self.counter.assign_add(1)]
        for total, gradient in zip(self._sums, gradients):
            if total is not None:
                added.append(total.assign_add(tf.cast(gradient, total.dtype)))
        present = [number for number, total in enumerate(self._sums) if total is not None]
        with tf.control_dependencies(_operations(added)):
            sums = [_value(self._sums[number]) for number in present]
            owners = [variables[number] for number in present]
            values = tf.cond(self._is_last(), lambda: self._reduced(sums, owners),
                             lambda: [tf.identity(total) for total in sums])
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        for number, value in zip(present, values):
            gradients[number] = value
        return gradients

    def apply(self, step, skip, results):
        """step() in the last pass, after which passes start again; skip() in others.

        results: the tensors that both depend on, in a graph.
        """
        def finish():
            with tf.control_dependencies(_operations([step()])):
                cleared = [total.assign(tf.zeros_like(_value(total))) for total in self._sums
                           if total is not None]
                with tf.control_dependencies(_operations(cleared)):
                    return tf.identity(self.counter.assign(0))

        def wait():
            with tf.control_dependencies(_operations([skip()])):
                return tf.identity(_value(self.counter))

        with tf.control_dependencies(_operations(results)):
            done = tf.cond(self._is_last(), finish, wait)
        return done if IS_TF2 else done.op

    def _dense(self, gradient):
        if not is_sparse(gradient):
            return gradient
        if not self._sparse_as_dense:
            raise ValueError("horovod: a gradient is sparse: with backward_passes_per_step pass "
                             "sparse_as_dense=True")
        return tf.convert_to_tensor(gradient)

    def _prepare(self, gradients, variables):
        if self.counter is not None:
            return
        with own_variables(self._name) as new_variable:
            self.counter = new_variable(tf.constant(0), "aggregation_counter")
            self._sums = [
                None if gradient is None else new_variable(
                    tf.zeros(variable.shape, gradient.dtype), "aggregation_%d" % number)
                for number, (gradient, variable) in enumerate(zip(gradients, variables))]

    def _is_last(self):
        return tf.equal(_value(self.counter), self._passes)

    def _reduced(self, sums, variables):
        if self._average:
            sums = [total / tf.cast(self._passes, total.dtype) for total in sums]
        return [tf.identity(total) for total in self._reduction.reduce(sums, variables)]


def _value(variable):
    return variable.read_value()


def _operations(values):
    """The operations for a control dependency."""
    return [value for value in values if value is not None and (
        tf.is_tensor(value) if hasattr(tf, "is_tensor") else hasattr(value, "op"))]
