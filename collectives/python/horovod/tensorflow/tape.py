# SPDX-License-Identifier: Apache-2.0
"""DistributedGradientTape: a tf.GradientTape whose gradients are those of all ranks."""
import tensorflow as tf

from horovod.common.models import trained_variables
from horovod.common.operations import Average
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.gradients import Reduction

_Tape = getattr(tf, "GradientTape", object)  # TensorFlow 1.4 and older have none


class _Distributed(_Tape):
    """A tape that shares everything with the one that was given, except gradient()."""

    def __init__(self, tape, reduction):
        vars(self).update(vars(tape))
        self._horovod_reduction = reduction

    def register_local_source(self, source):
        """Its gradients stay this rank's."""
        self._horovod_reduction.register_local(source)

    def gradient(self, target, sources, output_gradients=None, use_generic_names=False, **kwargs):
        """The tape's gradients, of all ranks. sources: as of tf.GradientTape.gradient().

        use_generic_names: Horovod's; gradients are called by their place here.
        """
        gradients = super(_Distributed, self).gradient(target, sources, output_gradients, **kwargs)
        flat = _nest().flatten(sources)
        reduced = self._horovod_reduction.reduce(_flat_gradients(gradients, flat), flat)
        if len(flat) == 1 and not isinstance(sources, (list, tuple, dict)):
            return reduced[0]
        return _nest().pack_sequence_as(sources, reduced)

    def get_local_and_global_gradients(self, target, sources, output_gradients=None,
                                       use_generic_names=False):
        """Two lists of (source, gradient): of local sources, and of the others."""
        gradients = self.gradient(target, sources, output_gradients)
        pairs = list(zip(sources, gradients))
        is_local = self._horovod_reduction.is_local
        return ([pair for pair in pairs if is_local(pair[0])],
                [pair for pair in pairs if not is_local(pair[0])])


def _nest():
    return tf.nest if hasattr(tf, "nest") else tf.contrib.framework.nest


def _flat_gradients(gradients, flat):
    """As many as sources, tf.IndexedSlices and None included, which nest would take apart."""
    if len(flat) == 1 and not isinstance(gradients, (list, tuple, dict)):
        return [gradients]
    if isinstance(gradients, (list, tuple)):
        found = []
        for gradient in gradients:
            inner = isinstance(gradient, (list, tuple, dict)) and not isinstance(
                gradient, tf.IndexedSlices)
            found += _flat_gradients(gradient, [None] * 2) if inner else [gradient]
        return found
    if isinstance(gradients, dict):
        return _flat_gradients([gradients[key] for key in sorted(gradients)], [None] * 2)
    return [gradients]


def DistributedGradientTape(gradtape, device_dense="", device_sparse="",
                            compression=Compression.none, sparse_as_dense=False, op=Average,
                            gradient_predivide_factor=1.0, num_groups=0, groups=None,
                            process_set=global_process_set, scale_local_gradients=True):
    """A tape like the given one whose gradient() returns the gradients of all ranks.

    The other arguments are DistributedOptimizer's. register_local_source(variable) of the result
    leaves that one's gradient alone.
    """
    groups = groups if groups is not None else (num_groups or None)
    return _Distributed(gradtape, Reduction(
        "DistributedGradientTape", compression, sparse_as_dense, op, gradient_predivide_factor,
        groups, process_set, scale_local_gradients))


def PartialDistributedGradientTape(gradtape, device_dense="", device_sparse="",
                                   compression=Compression.none, sparse_as_dense=False, op=Average,
                                   gradient_predivide_factor=1.0, num_groups=0, groups=None,
                                   process_set=global_process_set, local_layers=None,
                                   scale_local_gradients=True):
    """DistributedGradientTape() that leaves alone the gradients of local_layers: one layer or several."""
    tape = DistributedGradientTape(gradtape, device_dense, device_sparse, compression,
                                   sparse_as_dense, op, gradient_predivide_factor, num_groups,
                                   groups, process_set, scale_local_gradients)
    for variable in trained_variables(local_layers):
        tape.register_local_source(variable)
    return tape
