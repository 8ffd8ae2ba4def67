# SPDX-License-Identifier: Apache-2.0
"""TorchState: a model, an optimizer, samplers and plain objects, committed together."""
import copy

import torch

from horovod.common import basics
from horovod.common.elastic import ObjectState
from horovod.common.store import Store
from horovod.torch.elastic.sampler import ElasticSampler
from horovod.torch.functions import (broadcast_object, broadcast_optimizer_state,
                                     broadcast_parameters)
from horovod.torch.mpi_ops import barrier


class TorchState(ObjectState):
    """State of a training in PyTorch.

    model: a Module. optimizer: an Optimizer, wrapped by DistributedOptimizer or not. Both are optional.
    Further Modules, Optimizers and ElasticSamplers, and objects that pickle can carry, are passed by
    keyword. All become attributes, and all ranks get those of rank 0.
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
        self._store = Store("state.pt", torch.save, lambda file: torch.load(
            file, map_location="cpu", weights_only=False))
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
        if basics.rank() == 0:
            saved = {name: handler.saved for name, handler in self._handlers.items()}
            self._store.keep((self._saved, saved))

    def load(self):
        found = self._store.load() if basics.rank() == 0 else None
        if not broadcast_object(found is not None, 0):
            return False
        if found:
            self._saved, saved = found
            for name, handler in self._handlers.items():
                handler.saved = saved[name]
        self.restore()
        self.sync()  # so that reset callbacks see the same state on all ranks
        return True

    def finish(self):
        if self._store.directory is not None:
            barrier()  # a rank that still works may fail, and need it
            if basics.rank() == 0:
                self._store.remove()


class _Handler:
    """A value that has a state_dict()."""

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
    def sync(self):
        self.saved = broadcast_object(self.value.state_dict(), 0)
        self.restore()


_HANDLERS = [(torch.nn.Module, _ModelHandler), (torch.optim.Optimizer, _OptimizerHandler),
             (ElasticSampler, _SamplerHandler)]
