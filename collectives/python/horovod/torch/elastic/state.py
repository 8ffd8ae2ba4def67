# SPDX-License-Identifier: Apache-2.0
"""TorchState: a model, an optimizer, samplers and plain objects, committed together."""
import copy

import torch

from horovod.common import basics
from horovod.common.elastic import ObjectState
from horovod.torch.elastic.sampler import ElasticSampler
from horovod.torch.elastic.store import Commits
from horovod.torch.functions import (allgather_object, broadcast_object, broadcast_optimizer_state,
                                     broadcast_parameters)
from horovod.torch.mpi_ops import barrier


class TorchState(ObjectState):
    """State of a training in PyTorch.

    model: a Module. optimizer: an Optimizer, wrapped by DistributedOptimizer or not. Both are optional.
    Further Modules, Optimizers and ElasticSamplers, and objects that pickle can carry, are passed by
    keyword. All become attributes. All ranks get rank 0's model, optimizer and objects. Samplers
    merge the used samples of all ranks.
    """

    def __init__(self, model=None, optimizer=None, **kwargs):
        kwargs.update({name: value for name, value in
                       (("model", model), ("optimizer", optimizer)) if value is not None})
        self._handlers = {}
        plain = {}
        for name, value in kwargs.items():
            handler = next((make for kind, make in _HANDLERS if isinstance(value, kind)), None)
            if handler is None:
                plain[name] = value
            else:
                self._handlers[name] = handler(value)
        self._kept, self._commits = Commits(), 0
        super().__init__(broadcast_object, basics.rank, **plain)
        for name, handler in self._handlers.items():
            object.__setattr__(self, name, handler.value)

    def __setattr__(self, name, value):
        handler = self.__dict__.get("_handlers", {}).get(name)
        if handler is not None:
            handler.set_value(value)
        super().__setattr__(name, value)

    def save(self):
        super().save()
        for handler in self._handlers.values():
            handler.save()

    def restore(self):
        super().restore()
        for handler in self._handlers.values():
            handler.restore()

    def sync(self):
        super().save()
        super().sync()
        for name in sorted(self._handlers):
            self._handlers[name].sync()
        self.save()

    def keep(self):
        self._commits += 1
        shared, own = {"objects": self._saved}, {}
        for name, handler in self._handlers.items():
            (own if handler.of_rank else shared)[name] = handler.saved
        self._kept.keep(basics.rank(), self._commits, shared, own)

    def load(self):
        found = self._kept.load() if basics.rank() == 0 else None
        self._commits, parts = broadcast_object((found[0], found[2]) if found else (0, []), 0)
        if self._commits == 0:
            return False
        if found:
            self._saved = found[1]["objects"]
        for name, handler in self._handlers.items():
            if handler.of_rank:
                handler.load([part[name] for part in parts if name in part])
            elif found:
                handler.saved = found[1][name]
        self.restore()
        self.sync()  # so that reset callbacks see the same state on all ranks
        return True

    def finish(self):
        if self._kept.directory is not None:
            barrier()  # a rank that still works may fail, and need it
            if basics.rank() == 0:
                self._kept.remove()


class _Handler:
    """A value that has a state_dict()."""

    of_rank = False  # each rank has one of its own

    def __init__(self, value):
        self.value = value
        self.save()

    def set_value(self, value):
        self.value = value
        self.save()

    def save(self):
        self.saved = copy.deepcopy(self.value.state_dict())

    def restore(self):
        self.value.load_state_dict(copy.deepcopy(self.saved))


class _ModelHandler(_Handler):
    def sync(self):
        broadcast_parameters(self.value.state_dict(), root_rank=0)
        self.save()


class _OptimizerHandler(_Handler):
    def sync(self):
        broadcast_optimizer_state(self.value, root_rank=0)
        self.save()


class _SamplerHandler(_Handler):
    of_rank = True

    def sync(self):
        self.load(allgather_object(self.value.state_dict()))
        self.restore()

    def load(self, states):
        """The used samples of all ranks in rank 0's epoch."""
        if states:
            same = [s["processed_indices"] for s in states if s["epoch"] == states[0]["epoch"]]
            self.saved = {"epoch": states[0]["epoch"], "processed_indices": set().union(*same)}


_HANDLERS = [(torch.nn.Module, _ModelHandler), (torch.optim.Optimizer, _OptimizerHandler),
             (ElasticSampler, _SamplerHandler)]
