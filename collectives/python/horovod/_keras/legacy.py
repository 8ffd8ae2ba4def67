# SPDX-License-Identifier: Apache-2.0
"""Distributed optimizers of Keras before 3: standalone 2.1 to 2.15, tf.keras, tf_keras."""
import tensorflow as tf

from horovod._keras import optimizers
from horovod.tensorflow.gradient_aggregation import GradientAggregation
from horovod.tensorflow.util import VERSION, _executing_eagerly

# apply_gradients() reduces there; later ones compute_gradients().
_REDUCES_AS_IT_APPLIES = (2, 0) <= VERSION < (2, 4)


class _Variables(list):
    """A release of Keras has either ``optimizer.variables`` or ``optimizer.variables()``: this is both."""

    def __call__(self):
        return self


def methods(base, name, reduction, passes, average, sparse_as_dense):
    """The methods with which a subclass overrides the Keras optimizer class base."""
    found = {"_HAS_AGGREGATE_GRAD": True}

    def define(function):
        found[function.__name__] = function
        return function

    @define
    def __init__(self, *args, **kwargs):
        base.__init__(self, *args, **kwargs)
        aggregation = None if passes == 1 else GradientAggregation(reduction, passes, average,
                                                                   sparse_as_dense, name)
        object.__setattr__(self, "_agg_helper", aggregation)

    @define
    def register_local_var(self, var):
        """Its gradients stay this rank's."""
        reduction.register_local(var)

    def reduce_all(self, gradients, variables):
        work = self._agg_helper.compute if self._agg_helper else reduction.reduce
        return work(list(gradients), list(variables))

    @define
    def get_gradients(self, loss, params):
        """The optimizer's, of all ranks. Keras calls it in graphs."""
        return reduce_all(self, base.get_gradients(self, loss, params), params)

    if not hasattr(base, "get_gradients"):
        del found["get_gradients"]

    def computing(wrapped):
        def compute(self, loss, var_list, *args, **kwargs):
            """The optimizer's gradients, of all ranks."""
            pairs = list(wrapped(self, loss, var_list, *args, **kwargs))
            if not pairs:
                return pairs
            gradients, variables = zip(*pairs)
            return list(zip(reduce_all(self, gradients, variables), variables))
        return compute

    if _REDUCES_AS_IT_APPLIES:
        @define
        def _aggregate_gradients(self, grads_and_vars):
            gradients, variables = zip(*grads_and_vars)
            return reduce_all(self, gradients, variables)
    elif hasattr(base, "_compute_gradients"):
        def _compute_gradients(self, loss, var_list, grad_loss=None, tape=None):
            tape = tf.GradientTape() if tape is None else tape
            return base._compute_gradients(self, loss, var_list, grad_loss, tape=tape)
        found["_compute_gradients"] = computing(_compute_gradients)
    elif hasattr(base, "compute_gradients"):
        found["compute_gradients"] = computing(base.compute_gradients)
        found["_compute_gradients"] = found["compute_gradients"]

    @define
    def apply_gradients(self, grads_and_vars, *args, **kwargs):
        """The optimizer's; with backward_passes_per_step in the last pass only."""
        grads_and_vars = list(grads_and_vars)
        if not self._agg_helper:
            return base.apply_gradients(self, grads_and_vars, *args, **kwargs)
        variables = [variable for _, variable in grads_and_vars]
        if not _executing_eagerly():
            with tf.init_scope():  # the step must not make them in one branch of a condition
                optimizers.build(self, variables)
        return self._agg_helper.apply(
            lambda: base.apply_gradients(self, grads_and_vars, *args, **kwargs),
            lambda: self.iterations.assign_add(1),
            [gradient for gradient, _ in grads_and_vars])

    if not hasattr(base, "apply_gradients"):
        del found["apply_gradients"]
    _add_variables(base, found)
    return found


def _add_variables(base, found):
    """``variables`` as scripts of Horovod use it, in any release."""
    known = getattr(base, "variables", None)
    if isinstance(known, property) or (callable(known) and VERSION >= (2, 12)):
        def variables(self):
            """The optimizer's variables: a list, which may be called."""
            values = known.fget(self) if isinstance(known, property) else known(self)
            return _Variables(values)
        found["variables"] = property(variables)
    elif known is None:
        found["variables"] = lambda self: self.get_weights()
