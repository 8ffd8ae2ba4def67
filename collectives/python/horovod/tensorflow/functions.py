# SPDX-License-Identifier: Apache-2.0
"""Variables and objects from one rank to all, or from all to all."""
import tensorflow as tf

from horovod.common import objects
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.ops.operations import broadcast_each
from horovod.tensorflow.util import _executing_eagerly, normalized, to_tensors, v1


def broadcast_variables(variables, root_rank, process_set=global_process_set, inplace=False):
    """Gives every rank root_rank's values of the variables.

    Eagerly they are in the same order everywhere, and it is done on return. In a graph they have the
    same names, and the result is an operation that does it. inplace: Horovod's; there is one way here.
    """
    return tf.group(*broadcast_(list(variables), root_rank, process_set=process_set))


def broadcast_(variables, root_rank, name=None, process_set=global_process_set):
    """As broadcast_variables(); returns the variables' new values."""
    if not variables:
        return []
    name = name or "broadcast_variables"
    labels = range(len(variables))
    if not _executing_eagerly():
        name = v1.get_default_graph().unique_name(name)
        # A rank that has loaded a model has made its variables in another order.
        named = [normalized(variable.name) for variable in variables]
        if len(set(named)) == len(named):  # else eager variables in a tf.function
            labels = named
    values = to_tensors(variables)
    names = ["%s.%s" % (name, label) for label in labels]
    received = broadcast_each(values, root_rank, names, process_set)
    assigned = [variable.assign(value) for variable, value in zip(variables, received)]
    return [tf.identity(value) for value in assigned]


def broadcast_global_variables(root_rank):
    """An operation of a graph: every rank gets root_rank's values of all global variables."""
    if _executing_eagerly():
        raise RuntimeError("horovod: broadcast_global_variables() needs a graph: use "
                           "broadcast_variables(model.variables, root_rank) in eager execution")
    return broadcast_variables(v1.global_variables(), root_rank)


def broadcast_object(obj, root_rank=0, session=None, name=None, process_set=global_process_set):
    """root_rank's object, on every rank: anything that pickle can carry; the others' is ignored.

    session: Horovod's; none is needed.
    """
    return objects.broadcast_object(obj, root_rank, name, process_set)


def broadcast_object_fn(root_rank=0, session=None, name=None, process_set=global_process_set):
    """The function broadcast_object() of an object alone."""
    return lambda obj: broadcast_object(obj, root_rank, session, name, process_set)


def allgather_object(obj, session=None, name=None, process_set=global_process_set):
    """A list of every rank's object, in order of rank: anything that pickle can carry."""
    return objects.allgather_object(obj, name, process_set)
