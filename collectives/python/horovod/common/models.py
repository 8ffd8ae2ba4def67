# SPDX-License-Identifier: Apache-2.0
"""Keras of any release, its optimizers and models: what can be said without an import of a framework."""
import re

from horovod.common.store import StoredState

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


def is_of_keras_3(keras, optimizer):
    """False for one of tf_keras, which horovod.keras takes too where Keras is Keras 3."""
    return is_keras_3(keras) and isinstance(optimizer, keras.optimizers.Optimizer)


def variables(optimizer):
    """The optimizer's variables, as a list."""
    known = getattr(optimizer, "variables", None)
    if callable(known) and not isinstance(known, list):
        known = known()
    return list(known if known is not None else getattr(optimizer, "weights", []))


def values(optimizer):
    """Their values, as arrays."""
    if optimizer is None:
        return []
    if hasattr(optimizer, "get_weights"):  # which Keras 2.11 and newer do not have
        return optimizer.get_weights()
    return [variable.numpy() for variable in variables(optimizer)]


def set_values(optimizer, arrays, model):
    """The reverse. An optimizer that has not made its variables yet makes them now."""
    if optimizer is None or not arrays:
        return
    if len(values(optimizer)) != len(arrays):
        build(optimizer, model.trainable_variables)
    if hasattr(optimizer, "get_weights"):
        optimizer.set_weights(arrays)
        return
    for variable, array in zip(variables(optimizer), arrays):
        variable.assign(array)


def build(optimizer, trained):
    """Makes the optimizer's variables for the variables that are trained."""
    if hasattr(optimizer, "build"):
        optimizer.build(list(trained))
    elif hasattr(optimizer, "_create_all_weights"):
        optimizer._create_all_weights(list(trained))


def trained_variables(layers):
    """The weights of a layer or of several that are trained. ValueError for anything else."""
    if layers is None:
        return []
    layers = layers if isinstance(layers, (list, tuple, set)) else [layers]
    if not all(hasattr(layer, "trainable_weights") for layer in layers):
        raise ValueError("All local layers must be of tf.keras.layers.Layer type.")
    return [variable for layer in layers for variable in layer.trainable_weights]


class KerasState(StoredState):
    """State of a Keras model, of its optimizer (the model's by default), and of plain objects."""

    def __init__(self, model, optimizer=None, backend=None, **kwargs):
        if not getattr(model, "built", True):
            raise ValueError("horovod: the model of a KerasState has no weights yet: call "
                             "model.build(input_shape) first")
        self.model = model
        self.optimizer = optimizer or getattr(model, "optimizer", None)
        self.backend = backend
        super(KerasState, self).__init__(**kwargs)
        self._arrays = self._read()

    def _read(self):
        optimizer = values(self.optimizer)
        return [self.model.get_weights(), optimizer]

    def _write(self, arrays):
        weights, optimizer = arrays
        if weights:
            self.model.set_weights(weights)
        set_values(self.optimizer, optimizer, self.model)
