# SPDX-License-Identifier: Apache-2.0
"""Variables and objects from one rank to all, or from all to all."""
import hashlib

import tensorflow as tf

from horovod.common import objects
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.ops.operations import broadcast_each
from horovod.tensorflow.util import _executing_eagerly, normalized, to_tensors, v1


def broadcast_variables(variables, root_rank, process_set=global_process_set, inplace=False):
    """Gives every rank root_rank's values of the variables.

    Eagerly, and in a tf.function, they are in the same order everywhere, and eagerly it is done on
    return. In a graph of TensorFlow 1 they have the same names, or shapes and types in the same order:
    all ranks compare them when they make the operation, which is the result. inplace: Horovod's; there
    is one way here.
    """
    return tf.group(*broadcast_(list(variables), root_rank, process_set=process_set))


def broadcast_(variables, root_rank, name=None, process_set=global_process_set):
    """As broadcast_variables(); returns the variables' new values."""
    name = name or "broadcast_variables"
    labels = range(len(variables))
    if not _executing_eagerly():
        name = v1.get_default_graph().unique_name(name)
        if not v1.get_default_graph().building_function:  # ranks trace a tf.function when they like
            labels = _agreed_labels(variables, name, process_set)
    if not variables:
        return []
    values = to_tensors(variables)
    names = ["%s.%s" % (name, label) for label in labels]
    received = broadcast_each(values, root_rank, names, process_set)
    assigned = [variable.assign(value) for variable, value in zip(variables, received)]
    return [tf.identity(value) for value in assigned]


def digest(words):
    """A short text that is the same for the same list of texts."""
    return hashlib.sha256("\n".join(words).encode("utf-8")).hexdigest()


def _agreed_labels(variables, name, process_set):
    """What ranks match variables by: their names, or their places where names differ.

    A rank that has loaded a model has made its variables in another order, or with other names.
    """
    names = [normalized(variable.name) for variable in variables]
    kinds = ["%s %s" % (variable.dtype.base_dtype.name, variable.shape) for variable in variables]
    unique = len(set(names)) == len(names)
    found = objects.allgather_object((unique, digest(sorted(names)), digest(kinds)),
                                     name + ".variables", process_set)
    if all(one[0] and one[1] == found[0][1] for one in found):
        return names
    if any(one[2] != found[0][2] for one in found):
        everyone = objects.allgather_object(list(zip(names, kinds)), name + ".differences", process_set)
        raise ValueError("horovod: broadcast_variables: the ranks' variables differ in names and "
                         "shapes: %s. Build the same model and optimizer on all ranks"
                         % _first_difference(everyone, [one[2] for one in found]))
    return range(len(names))


def _first_difference(everyone, kinds):
    """The first place where a rank's list of variables is not the first rank's."""
    other = next(rank for rank, kind in enumerate(kinds) if kind != kinds[0])
    lists = [everyone[0], everyone[other]]
    longest = max(len(one) for one in lists)
    first, second = [one + [("missing", "")] * (longest - len(one)) for one in lists]
    place = next(place for place in range(longest) if first[place][1] != second[place][1])
    return "number %d is %s on the first rank, %s on number %d" % (
        place, " ".join(first[place]), " ".join(second[place]), other)


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
