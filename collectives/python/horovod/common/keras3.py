# SPDX-License-Identifier: Apache-2.0
"""Distributed optimizers of Keras 3, on each of its backends, without an import of any."""
import functools
import sys

from horovod.common import basics
from horovod.common.models import backend_of


def distributed(keras, optimizer, reduction, passes, average):
    """A new optimizer like the given one, whose gradients go through reduction.

    passes: how many of Keras' steps are one. average: whether Keras' average of them stays, or
    becomes their sum.
    """
    _keep_uncompiled(keras)
    base = optimizer.__class__
    multiple = 1 if average else passes

    def register_local_var(self, var):
        """Its gradients stay this rank's."""
        reduction.register_local(var)

    def _backend_apply_gradients(self, grads, trainable_variables):
        object.__setattr__(self, "_horovod_variables", list(trainable_variables))
        return base._backend_apply_gradients(self, grads, trainable_variables)

    def _clip_gradients(self, grads):
        """Keras calls it with the gradients of a step: they become all ranks', and are clipped then."""
        reduced = reduction.reduce(list(grads), self._horovod_variables)
        if multiple != 1:
            reduced = [None if gradient is None else gradient * multiple for gradient in reduced]
        return base._clip_gradients(self, reduced)

    cls = type(base.__name__, (base,), {
        "register_local_var": register_local_var, "_horovod_reduction": reduction,
        "_backend_apply_gradients": _backend_apply_gradients, "_clip_gradients": _clip_gradients,
        "__module__": base.__module__})  # which a saved model names
    made = cls.from_config(optimizer.get_config())
    if passes > 1:
        made.gradient_accumulation_steps = passes
    return made


def load_model(keras, wrap, filepath, custom_optimizers, custom_objects):
    """keras.models.load_model(), whose optimizer becomes a distributed one."""
    objects = {cls.__name__: cls for cls in custom_optimizers or []}
    objects.update(custom_objects or {})
    model = keras.models.load_model(filepath, custom_objects=objects)
    plain = model.optimizer
    if plain is None or hasattr(plain, "_horovod_reduction"):
        return model
    distributed = wrap(plain)
    if plain.built:
        distributed.build(model.trainable_variables)
        for variable, value in zip(distributed.variables, plain.variables):
            variable.assign(value)
    model.optimizer = distributed
    return model


_told = False


def _keep_uncompiled(keras):
    """Models with such an optimizer are not compiled: XLA and torch.compile refuse its operations.

    JAX compiles them.
    """
    if backend_of(keras) == "jax" or hasattr(keras.Model, "_horovod_compile"):
        return
    trainer = next(cls for cls in keras.Model.__mro__ if "compile" in vars(cls))
    compile_model = trainer.compile

    @functools.wraps(compile_model)
    def compile(self, *args, **kwargs):
        result = compile_model(self, *args, **kwargs)
        if hasattr(getattr(self, "optimizer", None), "_horovod_reduction") and self.jit_compile:
            self.jit_compile = False
            _tell_once()
        return result

    trainer._horovod_compile = compile_model
    trainer.compile = compile  # there: Keras asks whether a class has one of its own


def _tell_once():
    global _told
    if not _told and (not basics.is_initialized() or basics.rank() == 0):
        sys.stderr.write("horovod: jit_compile is off for models with a DistributedOptimizer: "
                         "operations between ranks cannot be compiled\n")
    _told = True
