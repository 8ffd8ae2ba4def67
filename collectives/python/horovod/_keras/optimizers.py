# SPDX-License-Identifier: Apache-2.0
"""The variables of a Keras optimizer of any release."""


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
