# SPDX-License-Identifier: Apache-2.0
"""Numbers and variables of a Keras of any release, read, written, averaged and broadcast."""
import numpy

from horovod.common import basics
from horovod.common.arrays import operations, wait
from horovod.common.models import is_keras_3, variables as variables_of
from horovod.common.objects import allgather_object


def average(values, name):
    """Returns the ranks' averages of a dict of numbers, which has the same keys on all ranks.

    The averages are NumPy's: TensorBoard's callback of Keras 2.1 takes no other numbers.
    """
    started = [(key, operations.allreduce([numpy.array([values[key]], "float64")],
                                          "%s.%s" % (name, key)))
               for key in sorted(values)]
    return {key: wait(operation)[0][0] for key, operation in started}


def numbers_of(logs):
    """Those entries of a callback's logs that have an average."""
    found = {}
    for key, value in (logs or {}).items():
        array = numpy.asarray(value)
        if array.size == 1 and array.dtype.kind in "fiu":
            found[key] = float(array)
    return found


class Setting(object):
    """A number of an optimizer's: "learning_rate" or "momentum"."""

    def __init__(self, keras, model, names):
        self._keras, self._optimizer = keras, model.optimizer
        self._name = next((name for name in names if hasattr(model.optimizer, name)), None)

    def exists(self):
        """Whether the optimizer has it."""
        return self._name is not None and self._value() is not None

    def is_variable(self):
        """Whether set() takes effect in steps that are compiled already."""
        return not isinstance(self._value(), (int, float))

    def get(self):
        """Its value, a float."""
        value = self._value()
        if not self.is_variable():
            return float(value)
        if is_keras_3(self._keras):
            return float(self._keras.ops.convert_to_numpy(value))
        return float(self._keras.backend.get_value(value))

    def set(self, number):
        """Gives it another value."""
        value = self._value()
        if not self.is_variable():
            setattr(self._optimizer, self._name, number)
        elif is_keras_3(self._keras):
            value.assign(number)
        else:
            self._keras.backend.set_value(value, number)

    def _value(self):
        return getattr(self._optimizer, self._name)


def learning_rate(keras, model):
    """The model's learning rate, to read and write."""
    return Setting(keras, model, ("learning_rate", "lr"))


def momentum(keras, model):
    """The model's momentum, to read and write, if it exists()."""
    return Setting(keras, model, ("momentum",))


def scale_velocities(model, factor):
    """What a momentum that is larger by the factor does in the next step, where it is compiled in."""
    optimizer = model.optimizer
    for variable in getattr(optimizer, "momentums", getattr(optimizer, "_momentums", ())):
        variable.assign(variable * factor)


def take_state(model):
    """Call before a callback reads or writes variables: JAX keeps them elsewhere while it trains."""
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()


def broadcast_model(keras, model, root_rank, is_local):
    """Gives every rank root_rank's variables of a model and its optimizer.

    is_local: whether a variable of the model stays this rank's.
    """
    if not is_keras_3(keras):
        _broadcast_legacy(keras, model, root_rank, is_local)
        return
    take_state(model)
    variables = [variable for variable in model.variables if not is_local(variable)]
    variables += list(getattr(model.optimizer, "variables", []))
    broadcast_keras3(keras, variables, root_rank)


def broadcast_keras3(keras, variables, root_rank):
    """Gives every rank root_rank's values of variables of Keras 3."""
    numeric = [variable for variable in variables if str(variable.dtype) != "string"]
    values = [numpy.asarray(keras.ops.convert_to_numpy(variable)) for variable in numeric]
    started = [operations.broadcast([value], root_rank, "broadcast_variables.%d" % number)
               for number, value in enumerate(values)]
    received = [wait(operation)[0] for operation in started]
    if basics.rank() != root_rank:
        for variable, value in zip(numeric, received):
            variable.assign(value)


def in_graph(keras):
    """Whether this Keras trains in a graph, as all did in TensorFlow 1."""
    if is_keras_3(keras):
        return False
    import horovod.tensorflow as hvd
    return not hvd._executing_eagerly()


def same_in_graph():
    """Whether all ranks' graphs have the same variables now. All ranks call it, with the same answer.

    Keras' own training makes variables before the first batch, but not always before callbacks.
    """
    from horovod.tensorflow.functions import digest
    from horovod.tensorflow.util import v1
    names = digest(sorted(variable.name for variable in v1.global_variables()))
    return len(set(allgather_object(names, "broadcast_variables.names"))) == 1


def _broadcast_legacy(keras, model, root_rank, is_local):
    import horovod.tensorflow as hvd
    if not in_graph(keras) and hasattr(model, "variables"):
        hvd.broadcast_variables([variable for variable in model.variables
                                 if not is_local(variable)], root_rank)
        if getattr(model, "optimizer", None) is not None:
            hvd.broadcast_variables(variables_of(model.optimizer), root_rank)
    else:
        evaluate(keras, hvd.broadcast_global_variables(root_rank))


def evaluate(keras, result):
    """A result of an operation, which is run in Keras' session if there is one."""
    import horovod.tensorflow as hvd
    if hvd._executing_eagerly():
        return result
    from horovod.tensorflow.util import v1
    backend = keras.backend
    get_session = getattr(backend, "get_session", None) or v1.keras.backend.get_session
    return get_session().run(result)
