# SPDX-License-Identifier: Apache-2.0
"""Distributed optimizers of Keras 3, on each of its backends."""
import functools
import sys

from horovod._keras import backend_of
from horovod.common import basics


def methods(keras, base, reduction, multiple):
    """The methods with which a subclass overrides the Keras optimizer class base.

    multiple: the factor of Keras' average over several passes.
    """
    _keep_uncompiled(keras)

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

    return {"register_local_var": register_local_var, "_horovod_reduction": reduction,
            "_backend_apply_gradients": _backend_apply_gradients,
            "_clip_gradients": _clip_gradients}


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
