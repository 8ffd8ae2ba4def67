# SPDX-License-Identifier: Apache-2.0
"""Objects, model parameters and optimizer state from one rank to all, or from all to all."""
import torch
from torch.utils import _pytree

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
    """A tensor's place in a structure that travels without its tensors."""

    def __init__(self, tensor):
        self.shape, self.dtype = tensor.shape, tensor.dtype


def broadcast_optimizer_state(optimizer, root_rank, model=None):
    """Gives every rank's optimizer the state and options, such as the learning rate, of root_rank's.

    optimizer: any torch optimizer, wrapped by DistributedOptimizer or not, over the same parameters
    on all ranks. The other ranks' state may be empty, for example after a restart from a checkpoint
    that only root_rank has read. model: accepted, as in Horovod, and not needed.
    """
    _make_gradients(optimizer)
    leaves, structure = _pytree.tree_flatten(optimizer.state_dict())
    slots = [_Slot(leaf) if torch.is_tensor(leaf) else leaf for leaf in leaves]
    slots, structure = broadcast_object((slots, structure), root_rank, name="optimizer.skeleton")
    if basics.rank() != root_rank:
        leaves = [torch.empty(slot.shape, dtype=slot.dtype) if isinstance(slot, _Slot) else slot
                  for slot in slots]
    broadcast_parameters([("optimizer.%d" % number, leaf) for number, leaf in enumerate(leaves)],
                         root_rank)
    if basics.rank() != root_rank:
        optimizer.load_state_dict(_pytree.tree_unflatten(leaves, structure))


def _make_gradients(optimizer):
    """Gives parameters of a new optimizer zeros as gradients: some make their state from them."""
    if optimizer.state_dict()["state"]:
        return
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
