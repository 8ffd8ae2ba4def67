# SPDX-License-Identifier: Apache-2.0
"""Distributed optimizers of Keras on TensorFlow: Keras 3, and those before: 2.1 to 2.15, tf.keras, tf_keras."""
import tensorflow as tf

from horovod.common import keras3, models
from horovod.tensorflow.gradient_aggregation import GradientAggregation
from horovod.tensorflow.gradients import Reduction
from horovod.tensorflow.util import VERSION, _executing_eagerly

_MODULE = "horovod._keras"  # by which scripts and Horovod's tests know a distributed optimizer
# apply_gradients() reduces there; later ones compute_gradients().
_REDUCES_AS_IT_APPLIES = (2, 0) <= VERSION < (2, 4)


class _Variables(list):
    """A release of Keras has either ``optimizer.variables`` or ``optimizer.variables()``: this is both."""

    def __call__(self):
        return self


def distributed(keras, optimizer, name=None, backward_passes_per_step=1,
                average_aggregated_gradients=False, **settings):
    """A new optimizer with the given one's configuration, whose gradients are all ranks'.

    settings: arguments of Reduction. The class has the name of the given one's, so that a saved model
    can be loaded without Horovod.
    """
    base = optimizer.__class__
    name = name or "Distributed%s" % base.__name__
    reduction = Reduction(name, **settings)
    if models.is_of_keras_3(keras, optimizer):
        return keras3.distributed(keras, optimizer, reduction, backward_passes_per_step,
                                  average_aggregated_gradients)
    methods = _methods(base, name, reduction, backward_passes_per_step,
                       average_aggregated_gradients, settings.get("sparse_as_dense", False))
    return type(base.__name__, (base,), methods).from_config(optimizer.get_config())


def load_model(keras, wrap, filepath, custom_optimizers, custom_objects, legacy_opts):
    """As keras3.load_model(), of a Keras before 3. legacy_opts: with a legacy optimizer."""
    base = keras.optimizers.legacy.Optimizer if legacy_opts else keras.optimizers.Optimizer

    def wrapping(cls):
        return lambda **config: wrap(cls(**config))

    objects = {}
    for cls in base.__subclasses__():
        if cls.__module__ != _MODULE:  # another distributed one
            objects[cls.__name__.lower()] = objects[cls.__name__] = wrapping(cls)
    for cls in custom_optimizers or []:
        objects[cls.__name__] = wrapping(cls)
    objects.update(custom_objects or {})
    return keras.models.load_model(filepath, custom_objects=objects)


def _methods(base, name, reduction, passes, average, sparse_as_dense):
    """The methods with which a subclass overrides the Keras optimizer class base."""
    found = {"_HAS_AGGREGATE_GRAD": True, "__module__": _MODULE, "_horovod_reduction": reduction}

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
                models.build(self, variables)
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
