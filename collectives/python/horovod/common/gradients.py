# SPDX-License-Identifier: Apache-2.0
"""Reduces gradients for optimizers and tapes of TensorFlow and Keras: the ranks' instead of this rank's."""
from horovod.common.compression import NoneCompressor
from horovod.common.operations import Adasum, Average, Sum
from horovod.common.process_sets import global_process_set, registered


def check_arguments(op, gradient_predivide_factor, groups):
    """Raises ValueError for wrong arguments of an optimizer or a tape."""
    if op not in (Average, Sum, Adasum):
        raise ValueError("horovod: op must be Average, Sum or Adasum")
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if groups is not None and not (isinstance(groups, list) or groups > 0):
        raise ValueError("groups should be a non-negative integer or a list of list of "
                         "tf.Variable.")


def check_plain(optimizer):
    """Raises ValueError for a DistributedOptimizer, which has a mark of this name."""
    if hasattr(optimizer, "_horovod_reduction"):
        raise ValueError("horovod: DistributedOptimizer: the optimizer is one already, and its "
                         "gradients would be reduced twice: pass the optimizer that it was made of")


class Reduction(object):
    """The way from one rank's gradients to the ranks'. The arguments are DistributedOptimizer's.

    A derived class sends the gradients of its framework, in reduce_all().
    """

    def __init__(self, name, compression=NoneCompressor, sparse_as_dense=False, op=Average,
                 gradient_predivide_factor=1.0, groups=None, process_set=global_process_set,
                 scale_local_gradients=True):
        check_arguments(op, gradient_predivide_factor, groups)
        registered(process_set)
        self._name, self._compression = name, compression or NoneCompressor
        self._sparse_as_dense, self._op = sparse_as_dense, op
        self._factors = (1.0 / gradient_predivide_factor, float(gradient_predivide_factor))
        self._groups, self._process_set = groups, process_set
        self._scale_local = scale_local_gradients
        self._local = {}  # variables by their keys, which are theirs as long as they live

    def register_local(self, variable):
        """Its gradients stay this rank's."""
        self._local[self.key(variable)] = variable

    def is_local(self, variable):
        """Whether register_local() has had it."""
        return self.key(variable) in self._local

    def reduce(self, gradients, variables):
        """The ranks' gradients, in the order of this rank's. None stays None."""
        gradients = list(gradients)
        if not self._process_set.included():
            return gradients
        sent = []
        for number, (gradient, variable) in enumerate(zip(gradients, variables)):
            if gradient is None:
                continue
            gradients[number] = gradient = self.taken(gradient)
            if self._local and self.is_local(variable):
                if self._scale_local:  # as large a part of the step as on one rank
                    gradients[number] = self.divided(gradient, float(self._process_set.size()))
            elif self._process_set.size() > 1:
                sent.append(number)
        if sent:
            reduced = self.reduce_all([gradients[number] for number in sent], sent,
                                      [variables[number] for number in sent])
            for number, gradient in zip(sent, reduced):
                gradients[number] = gradient
        return gradients

    # What a derived class says of its framework.

    def key(self, variable):
        """The variable's key in a dict."""
        return id(variable)

    def taken(self, gradient):
        """The gradient in the form in which it is sent."""
        return gradient

    def divided(self, gradient, number):
        """The gradient divided by a number."""
        return gradient / number

    def reduce_all(self, gradients, numbers, variables):
        """The ranks' gradients. numbers: their places, the same on all ranks."""
        raise NotImplementedError()
