# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: any torch optimizer, with the gradients of all ranks."""
import collections
import contextlib
import warnings

import torch

from horovod.common import basics, process_sets
from horovod.common.gradients import check_plain
from horovod.common.process_sets import global_process_set
from horovod.common.util import split_list
from horovod.torch.compression import Compression
from horovod.torch.gradients import Gradients, check_op, complete_all
from horovod.torch.mpi_ops import Adasum, Average, allreduce_async_, synchronize


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none,
                         backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0,
                         num_groups=0, groups=None, sparse_as_dense=False,
                         process_set=global_process_set):
    """An optimizer like the given one whose step() uses the gradients of all ranks.

    optimizer: a torch.optim.Optimizer; the result is an instance of a subclass of its class and
    shares its parameters and state (use the result from then on).
    named_parameters: the model's ``named_parameters()``; all of the optimizer's parameters must be
    among them, under different names. The order of the optimizer's parameters must be the same on
    all ranks.
    compression: Compression.none or Compression.fp16.
    backward_passes_per_step: how many backward passes add up in the gradients before step().
    op: Average (the default) or Sum; or Adasum, of the changes of each rank's own step.
    gradient_predivide_factor: with Average, gradients are divided by it before the sum and
    multiplied after.
    groups: lists of parameters whose gradients are reduced together, all or none of them, or how
    many such groups to make of all parameters, as num_groups, the older argument, says it.
    sparse_as_dense: reduce sparse gradients as dense ones.
    process_set: the ranks whose gradients are meant; on others the optimizer is as it was.

    Raises ValueError for wrong arguments and before init(). step() and synchronize() raise
    HorovodInternalError where the other ranks are gone or out of step.
    """
    if op != Adasum:
        check_op(op)
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step < 1:
        raise ValueError("horovod: DistributedOptimizer: backward_passes_per_step must be at least "
                         "1")
    if num_groups != 0:
        warnings.warn("Parameter `num_groups` has been replaced by `groups` and will be removed",
                      DeprecationWarning, stacklevel=2)
        groups = num_groups if groups is None else groups
    process_sets.registered(process_set)
    check_plain(optimizer)
    names = _names(optimizer, named_parameters)
    groups = _groups(optimizer, groups)
    kind = _AdasumOptimizer if op == Adasum else _DistributedOptimizer
    base = type(optimizer)
    distributed = object.__new__(type(base.__name__, (kind, base), {}))
    # A learning-rate schedule leaves a step() on the instance that it watches: not ours.
    vars(distributed).update((key, value) for key, value in vars(optimizer).items()
                             if key != "step")
    distributed._parameter_names = {parameter: names[id(parameter)]
                                    for parameter in _parameters(optimizer)}
    distributed._attach(groups, compression, backward_passes_per_step, op,
                        gradient_predivide_factor, sparse_as_dense, process_set)
    return distributed


def _names(optimizer, named_parameters):
    """The name of each parameter, the same on all ranks: id -> name."""
    if named_parameters is None:
        return {id(parameter): "noname.%d" % number
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


def _groups(optimizer, groups):
    """Lists of parameters that need gradients; those that are in no group are one by themselves."""
    trained = [parameter for parameter in _parameters(optimizer) if parameter.requires_grad]
    if groups is None or groups == 0:
        return [[parameter] for parameter in trained]
    if isinstance(groups, int) and groups > 0:
        return [group for group in split_list(trained, groups) if group]
    if not isinstance(groups, (list, tuple)):
        raise ValueError("groups should be a non-negative integer or a list of list of "
                         "torch.Tensor.")
    grouped = [parameter for group in groups for parameter in group]
    if not all(torch.is_tensor(parameter) for parameter in grouped):
        raise ValueError("groups must consist of torch.Tensor.")
    seen = {id(parameter) for parameter in grouped}
    if len(seen) < len(grouped):
        raise ValueError("A parameter can only appear once in groups.")
    known = {id(parameter) for parameter in trained}
    made = [[parameter for parameter in group if id(parameter) in known] for group in groups]
    return ([group for group in made if group] +
            [[parameter] for parameter in trained if id(parameter) not in seen])


class _DistributedOptimizer(torch.optim.Optimizer):
    """The methods that DistributedOptimizer() adds, in front of the wrapped optimizer's class."""

    _horovod_reduction = True

    def _attach(self, groups, compression, passes, op, predivide, sparse_as_dense, process_set):
        self._synchronized = False
        self._should_synchronize = True
        self._gradients, self._accumulators = {}, []
        self.set_backward_passes_per_step(passes)
        if not process_set.included() or process_set.size() == 1:
            return  # the gradients are reduced already
        queue = basics.queue(process_set)
        queue.optimizers += 1  # another one may have parameters of the same names
        for group in groups:
            name = "%d.%s" % (queue.optimizers, self._parameter_names[group[0]])
            gradients = Gradients(group, name, queue, compression, (1.0 / predivide, predivide), op,
                                  sparse_as_dense, process_set)
            for parameter in group:
                self._gradients[parameter] = gradients
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
        """Sets the state between two steps: no gradient is waited for."""
        self._passes = {}  # parameter -> backward passes seen
        self._submitted = set()  # Gradients

    def _make_hook(self, parameter):
        def hook(*_):
            passes = self._passes.get(parameter, 0) + 1
            if passes > self.backward_passes_per_step:
                raise AssertionError(
                    "Gradients were computed more than backward_passes_per_step times before call "
                    "to step(). Increase backward_passes_per_step to accumulate gradients locally. "
                    + self._blame(parameter))
            self._passes[parameter] = passes
            gradients = self._gradients[parameter]
            if all(self._passes.get(one) == self.backward_passes_per_step
                   for one in gradients.parameters):
                self._submit(gradients)
        return hook

    def _submit(self, gradients):
        gradients.submit()
        self._submitted.add(gradients)

    def synchronize(self):
        """Waits until all gradients are the ranks'. A script that clips gradients calls it first.

        Gradients that no backward pass has produced count as zeros.
        """
        everything = list(dict.fromkeys(self._gradients.values()))
        for gradients in everything:
            if gradients not in self._submitted:
                self._submit(gradients)
        complete_all(everything, self._reset)
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Inside it step() does not call synchronize(), because the script has called it."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        """synchronize(), then the wrapped optimizer's step(); returns its result."""
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
                                 "prohibited as it can cause a race condition. "
                                 + self._blame(next(iter(self._passes))))
        return super().zero_grad(*args, **kwargs)

    def _blame(self, parameter):
        return ("Rank %d, parameter %s: if the backward pass is another optimizer's, as of a GAN, "
                "switch requires_grad off for parameters that it does not train."
                % (basics.rank(), self._parameter_names[parameter]))

    def load_state_dict(self, *args, **kwargs):
        """The wrapped optimizer's."""
        self._synchronized = False
        self._should_synchronize = True
        return super().load_state_dict(*args, **kwargs)


class _AdasumOptimizer(torch.optim.Optimizer):
    """Each rank makes a step of its own; the ranks' changes are combined by Adasum."""

    _horovod_reduction = True

    def _attach(self, groups, compression, passes, op, predivide, sparse_as_dense, process_set):
        self.backward_passes_per_step = passes
        self._compression = compression
        self._process_set = process_set
        self._number = 0
        if process_set.included():
            queue = basics.queue(process_set)
            queue.optimizers += 1
            self._number = queue.optimizers
        self._trained = [parameter for group in groups for parameter in group]

    def set_backward_passes_per_step(self, passes):
        """Has no effect: step() comes after as many backward passes as the script makes."""
        self.backward_passes_per_step = passes

    def synchronize(self):
        """Has no effect: ranks meet in step()."""

    @contextlib.contextmanager
    def skip_synchronize(self):
        """AssertionError: there is nothing to skip, as in Horovod."""
        raise AssertionError("Skipping synchronization is not supported when using Adasum "
                             "optimizer.")
        yield

    def step(self, closure=None):
        """Takes the wrapped optimizer's step() and combines the changes of all ranks."""
        before = [parameter.detach().clone() for parameter in self._trained]
        loss = super().step(closure)
        if not self._process_set.included() or self._process_set.size() == 1:
            return loss
        handles = []
        with torch.no_grad():
            for parameter, start in zip(self._trained, before):
                change, context = self._compression.compress(parameter - start)
                name = "%d.%s" % (self._number, self._parameter_names[parameter])
                handles.append((allreduce_async_(change, name=name, op=Adasum,
                                                 process_set=self._process_set), context))
            for (handle, context), parameter, start in zip(handles, self._trained, before):
                change = self._compression.decompress(synchronize(handle), context)
                parameter.copy_(start + change)
        return loss
