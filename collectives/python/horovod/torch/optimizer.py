# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: any torch optimizer, with the gradients of all ranks."""
import collections
import contextlib
import warnings

import torch

from horovod.common import basics, process_sets
from horovod.common.process_sets import global_process_set
from horovod.torch.compression import Compression
from horovod.torch.gradients import Gradient
from horovod.torch.ops.allreduce import Average, Sum


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none,
                         backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0,
                         sparse_as_dense=False, process_set=global_process_set):
    """An optimizer like the given one whose step() uses the gradients of all ranks.

    optimizer: a torch.optim.Optimizer; the result is an instance of a subclass of its class and
    shares its parameters and state (use the result from then on).
    named_parameters: the model's ``named_parameters()``; all of the optimizer's parameters must be
    among them, under different names. The order of the optimizer's parameters must be the same on
    all ranks.
    compression: Compression.none or Compression.fp16.
    backward_passes_per_step: how many backward passes add up in the gradients before step().
    op: Average (the default) or Sum.
    gradient_predivide_factor: with Average, gradients are divided by it before the sum and
    multiplied after.
    sparse_as_dense: accept sparse gradients, and make them dense.
    process_set: the ranks whose gradients are meant; on others the optimizer is as it was.

    Raises ValueError for wrong arguments and before init(). step() and synchronize() raise
    HorovodInternalError where the other ranks are gone or out of step.
    """
    if op not in (Average, Sum):
        raise ValueError("horovod: DistributedOptimizer: op must be Average or Sum")
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step < 1:
        raise ValueError("horovod: DistributedOptimizer: backward_passes_per_step must be at least "
                         "1")
    process_sets.registered(process_set)
    names = _names(optimizer, named_parameters)
    base = type(optimizer)
    distributed = object.__new__(type(base.__name__, (_DistributedOptimizer, base), {}))
    # A learning-rate schedule leaves a step() on the instance that it watches: not ours.
    vars(distributed).update((key, value) for key, value in vars(optimizer).items()
                             if key != "step")
    distributed._attach(names, compression, backward_passes_per_step, op, gradient_predivide_factor,
                        sparse_as_dense, process_set)
    return distributed


def _names(optimizer, named_parameters):
    """What each parameter is called, the same on all ranks: id -> name."""
    if named_parameters is None:
        return {id(parameter): str(number)
                for number, parameter in enumerate(_parameters(optimizer))}
    named_parameters = list(named_parameters)
    if any(not isinstance(entry, tuple) for entry in named_parameters):
        raise ValueError("named_parameters should be a sequence of tuples (name, parameter), "
                         "usually produced by model.named_parameters().")
    counts = collections.Counter(name for name, _ in named_parameters)
    duplicates = sorted(name for name, count in counts.items() if count > 1)
    if duplicates:
        raise ValueError("Parameter names in named_parameters must be unique. Found duplicates: %s"
                         % ", ".join(duplicates))
    named = {id(parameter): name for name, parameter in named_parameters}
    unnamed = sum(id(parameter) not in named for parameter in _parameters(optimizer))
    if unnamed:
        raise ValueError("named_parameters was specified, but %d of the optimizer's parameters "
                         "were not named" % unnamed)
    return named


def _parameters(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


class _DistributedOptimizer(torch.optim.Optimizer):
    """The methods that DistributedOptimizer() adds, in front of the wrapped optimizer's class."""

    def _attach(self, names, compression, passes, op, predivide, sparse_as_dense, process_set):
        self._sparse_as_dense = sparse_as_dense
        self._synchronized = False
        self._should_synchronize = True
        trained = [parameter for parameter in _parameters(self) if parameter.requires_grad]
        self._gradients, self._accumulators = {}, []
        self.set_backward_passes_per_step(passes)
        if not process_set.included() or process_set.size() == 1:
            return  # the gradients are everybody's already
        queue = basics.queue(process_set)
        queue.optimizers += 1  # another one may have parameters of the same names
        for parameter in trained:
            name = "%d.%s" % (queue.optimizers, names[id(parameter)])
            self._gradients[parameter] = Gradient(parameter, name, queue, compression,
                                                  (1.0 / predivide, predivide), op)
            # The node of the graph that adds to parameter.grad; it lives as long as we hold it.
            accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            accumulator.register_hook(self._make_hook(parameter))
            self._accumulators.append(accumulator)
        self._reset()

    def set_backward_passes_per_step(self, passes):
        """How many backward passes come before each step() from now on."""
        self.backward_passes_per_step = passes
        self._reset()

    def _reset(self):
        """Waits for no gradient: the state between two steps."""
        self._passes = {}  # parameter -> backward passes seen
        self._submitted = set()  # parameters

    def _make_hook(self, parameter):
        def hook(*_):
            passes = self._passes.get(parameter, 0) + 1
            if passes > self.backward_passes_per_step:
                raise AssertionError(
                    "Gradients were computed more than backward_passes_per_step times before call "
                    "to step(). Increase backward_passes_per_step to accumulate gradients locally.")
            if parameter.grad.is_sparse and not self._sparse_as_dense:
                raise ValueError("horovod: a gradient is sparse: pass sparse_as_dense=True to "
                                 "DistributedOptimizer")
            self._passes[parameter] = passes
            if passes == self.backward_passes_per_step:
                self._submit(parameter)
        return hook

    def _submit(self, parameter):
        self._gradients[parameter].submit()
        self._submitted.add(parameter)

    def synchronize(self):
        """Waits until all gradients are the ranks'; to be called before they are clipped, say.

        Gradients that no backward pass has produced count as zeros.
        """
        for parameter in self._gradients:
            if parameter not in self._submitted:
                self._submit(parameter)
        with contextlib.ExitStack() as stack:  # all of them, whichever fails
            stack.callback(self._reset)
            for gradient in reversed(self._gradients.values()):
                stack.callback(gradient.complete)
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Inside it step() does not synchronize(), which the script has done itself."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        """synchronize(), then the wrapped optimizer's step(); returns what that does."""
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn("optimizer.step() called without optimizer.skip_synchronize() "
                              "context after optimizer.synchronize(). This can cause training "
                              "slowdown. You may want to consider using "
                              "optimizer.skip_synchronize() context if you use "
                              "optimizer.synchronize() in your code.")
            self.synchronize()
        self._synchronized = False
        return super().step(closure)

    def zero_grad(self, *args, **kwargs):
        """The wrapped optimizer's. AssertionError between backward() and step()."""
        if self._passes:
            raise AssertionError("optimizer.zero_grad() was called after loss.backward() but "
                                 "before optimizer.step() or optimizer.synchronize(). This is "
                                 "prohibited as it can cause a race condition.")
        return super().zero_grad(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        """The wrapped optimizer's."""
        self._synchronized = False
        self._should_synchronize = True
        return super().load_state_dict(*args, **kwargs)
