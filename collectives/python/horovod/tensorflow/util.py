# SPDX-License-Identifier: Apache-2.0
"""Differences between releases of TensorFlow."""
import contextlib
import re

import tensorflow as tf
from tensorflow.python.eager import context

# The names of TensorFlow 1, in either release.
v1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
VERSION = tuple(int(number) for number in re.findall("[0-9]+", tf.__version__)[:2])
IS_TF2 = VERSION >= (2, 0)


def _executing_eagerly():
    """Whether operations are done as they are called, not put into a graph."""
    return context.executing_eagerly()


# A decorator: tf.function shall not translate the function.
try:
    untranslated = tf.autograph.experimental.do_not_convert
except AttributeError:  # an old release, which translates nothing
    def untranslated(function):
        """Returns the function."""
        return function


def to_tensors(values):
    """The values as tensors: of references, which assign() returns in TensorFlow 1's graphs, what they refer to."""
    tensors = [tf.convert_to_tensor(value) for value in values]
    return [tensor if tensor.dtype == tensor.dtype.base_dtype else tf.identity(tensor)
            for tensor in tensors]


@contextlib.contextmanager
def own_variables(name):
    """Gives a function of (initial value, name) that makes variables of this package, in a scope of that name."""
    def new_variable(initial, name):
        if IS_TF2:
            return tf.Variable(initial, trainable=False, name=name)
        return v1.get_variable(name, initializer=initial, trainable=False)
    with v1.init_scope() if IS_TF2 else v1.variable_scope("horovod_" + name):
        yield new_variable


def reference(variable):
    """The key of a variable in a dict, as long as the variable lives."""
    if hasattr(variable, "ref") and IS_TF2:
        return variable.ref()
    try:
        hash(variable)
    except TypeError:  # one of Keras 3
        return id(variable)
    return variable


def normalized(name):
    """A tensor's name as TensorFlow allows it for an operation."""
    return re.sub("[^a-zA-Z0-9_]", "_", name)


def graph_name(name, verb, tensors, ignore_name_scope=False):
    """The name of an operation on all ranks: in a graph from its tensors, else its own name.

    None: it has no name, and ranks match it by its turn.
    """
    if _executing_eagerly():
        return name
    if name is None:
        name = normalized("Horovod%s_%s" % (verb, "_".join(tensor.name for tensor in tensors[:2])))
    return name if ignore_name_scope else v1.get_default_graph().unique_name(normalized(name))
