# SPDX-License-Identifier: Apache-2.0
"""Objects, model parameters and optimizer state from one rank to all, or from all to all."""
import torch

from horovod.common import basics
from horovod.common.objects import allgather_object, broadcast_object  # noqa: F401
from horovod.common.process_sets import global_process_set
from horovod.torch.mpi_ops import broadcast_async_, synchronize


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Replaces the tensors' contents with root_rank's.

    params: a model's ``state_dict()``, ``named_parameters()`` or ``parameters()``: a dict or an
    iterable of tensors or of (name, tensor), with the same names and shapes on all ranks.
    Entries that are not tensors are skipped. Raises ValueError for anything else.
    """
    if isinstance(params, dict):
        params = sorted(params.items())
    elif torch.is_tensor(params) or isinstance(params, (str, bytes)):
        raise ValueError("horovod: invalid params of type: %s" % type(params).__name__)
    try:
        named = [entry if isinstance(entry, tuple) else (None, entry) for entry in params]
    except TypeError as error:
        raise ValueError("horovod: invalid params of type: %s" % type(params).__name__) from error
    handles = [broadcast_async_(tensor, root_rank, name, process_set) for name, tensor in named
               if torch.is_tensor(tensor)]
    for handle in handles:
        synchronize(handle)


class _Slot:
    """Where a tensor stands in a structure that travels without its tensors."""

    def __init__(self, tensor):
        self.shape, self.dtype = tensor.shape, tensor.dtype


def _without_tensors(value, tensors):
    """The structure with a _Slot for each tensor, which is appended to tensors."""
    if torch.is_tensor(value):
        tensors.append(value)
        return _Slot(value)
    if isinstance(value, dict):
        return {key: _without_tensors(item, tensors) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_without_tensors(item, tensors) for item in value)
    return value


def _with_tensors(value, tensors):
    """The reverse. tensors: an iterator, in the order in which _without_tensors() took them."""
    if isinstance(value, _Slot):
        return next(tensors)
    if isinstance(value, dict):
        return {key: _with_tensors(item, tensors) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with_tensors(item, tensors) for item in value)
    return value


def _slots(value):
    if isinstance(value, _Slot):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return ([slot for item in items for slot in _slots(item)]
            if isinstance(value, dict) or type(value) in (list, tuple) else [])


def broadcast_optimizer_state(optimizer, root_rank, model=None):
    """Gives every rank's optimizer the state and options, such as the learning rate, of root_rank's.

    optimizer: any torch optimizer, wrapped by DistributedOptimizer or not, over the same parameters
    on all ranks. The other ranks' state may be empty, for example after a restart from a checkpoint
    that only root_rank has read. model: accepted, as in Horovod, and not needed.
    """
    _make_gradients(optimizer)
    tensors = []
    skeleton = _without_tensors(optimizer.state_dict(), tensors)
    skeleton = broadcast_object(skeleton, root_rank, name="optimizer.skeleton")
    if basics.rank() != root_rank:
        tensors = [torch.empty(slot.shape, dtype=slot.dtype) for slot in _slots(skeleton)]
    broadcast_parameters([("optimizer.%d" % number, tensor)
                          for number, tensor in enumerate(tensors)], root_rank)
    if basics.rank() != root_rank:
        optimizer.load_state_dict(_with_tensors(skeleton, iter(tensors)))


def _make_gradients(optimizer):
    """Gives parameters of a new optimizer zeros as gradients: some make their state from them."""
    if optimizer.state_dict()["state"]:
        return
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
