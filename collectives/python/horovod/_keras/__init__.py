# SPDX-License-Identifier: Apache-2.0
"""The common parts of horovod.keras and horovod.tensorflow.keras, for Keras 2.1 to 3."""
import re

_KERAS_3 = (3, 0)


def version_of(keras):
    """Major and minor number of a Keras package; of tf.keras, of the Keras that it is."""
    text = getattr(keras, "__version__", None)
    if text is None:  # tf.keras of a TensorFlow that brings its own
        import tensorflow as tf
        text = getattr(getattr(tf.keras, "version", None), "__call__", lambda: tf.__version__)()
    return tuple(int(number) for number in re.findall("[0-9]+", text)[:2])


def is_keras_3(keras):
    """Whether its optimizers and variables are Keras 3's."""
    return hasattr(keras, "ops") and version_of(keras) >= _KERAS_3


def backend_of(keras):
    """The backend: "tensorflow", "torch" or "jax"."""
    return keras.config.backend() if is_keras_3(keras) else "tensorflow"


def _is_of_keras_3(keras, optimizer):
    """False for one of tf_keras, which horovod.keras takes too where Keras is Keras 3."""
    return is_keras_3(keras) and isinstance(optimizer, keras.optimizers.Optimizer)


def _make_reduction(backend, name, **settings):
    """The way of gradients to all ranks, for Keras' backend; arguments of Reduction."""
    if backend == "tensorflow":
        from horovod.tensorflow.gradients import Reduction
        return Reduction(name, **settings)
    from horovod._keras import backends
    return backends.reduction(backend, name, **settings)


def create_distributed_optimizer(keras, optimizer, name=None, backward_passes_per_step=1,
                                 average_aggregated_gradients=False, **settings):
    """A new optimizer with the given one's configuration, whose gradients are all ranks'.

    Its class has the name of the given one's, so that a saved model can be loaded without Horovod.
    """
    cls = _distributed_class(keras, optimizer, name, backward_passes_per_step,
                             average_aggregated_gradients, settings)
    distributed = cls.from_config(optimizer.get_config())
    if _is_of_keras_3(keras, optimizer) and backward_passes_per_step > 1:
        distributed.gradient_accumulation_steps = backward_passes_per_step
    return distributed


def _distributed_class(keras, optimizer, name, passes, average, settings):
    base = optimizer.__class__
    name = name or "Distributed%s" % base.__name__
    is_modern = _is_of_keras_3(keras, optimizer)
    reduction = _make_reduction(backend_of(keras) if is_modern else "tensorflow", name, **settings)
    if is_modern:
        from horovod._keras import keras3
        methods = keras3.methods(keras, base, reduction, 1 if average else passes)
        methods["__module__"] = base.__module__  # which a saved model names
    else:
        from horovod._keras import legacy
        methods = legacy.methods(base, name, reduction, passes, average,
                                 settings.get("sparse_as_dense", False))
        methods["__module__"] = __name__
    return type(base.__name__, (base,), methods)


def load_model(keras, wrap, filepath, custom_optimizers=None, custom_objects=None,
               legacy_opts=False):
    """Loads a model whose optimizer becomes a distributed one, with its state.

    wrap: makes an optimizer a distributed one. custom_optimizers: classes beside Keras' own.
    """
    if is_keras_3(keras):
        from horovod._keras import keras3
        return keras3.load_model(keras, wrap, filepath, custom_optimizers, custom_objects)
    base = keras.optimizers.legacy.Optimizer if legacy_opts else keras.optimizers.Optimizer

    def wrapping(cls):
        return lambda **config: wrap(cls(**config))

    objects = {}
    for cls in base.__subclasses__():
        if cls.__module__ != __name__:  # another distributed one
            objects[cls.__name__.lower()] = objects[cls.__name__] = wrapping(cls)
    for cls in custom_optimizers or []:
        objects[cls.__name__] = wrapping(cls)
    objects.update(custom_objects or {})
    return keras.models.load_model(filepath, custom_objects=objects)
