# SPDX-License-Identifier: Apache-2.0
"""Every operation of horovod.tensorflow with every kind of value that stands for a tensor, in graphs and eagerly."""
from __future__ import print_function

import os

import numpy as np
import tensorflow as tf

import horovod.tensorflow as hvd

v1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
hvd.init()
assert hvd.size() == 2
own = np.full((2, 2), 1.0 + hvd.rank(), "float32")
total, mean = np.full((2, 2), 3.0), np.full((2, 2), 1.5)
OPERATIONS = (
    ("allreduce", lambda value: hvd.allreduce(value, op=hvd.Sum), total),
    ("allreduce, as of 2018", lambda value: hvd.allreduce(value, average=True), mean),
    ("allreduce, compressed", lambda value: hvd.allreduce(value, compression=hvd.Compression.fp16), mean),
    ("_allreduce", hvd._allreduce, total),
    ("grouped_allreduce", lambda value: hvd.grouped_allreduce([value, value])[1], mean),
    ("reducescatter", hvd.reducescatter, mean[:1]),
    ("grouped_reducescatter", lambda value: hvd.grouped_reducescatter([value, value])[1], mean[:1]),
    ("allgather", hvd.allgather, [[1, 1], [1, 1], [2, 2], [2, 2]]),
    ("grouped_allgather", lambda value: hvd.grouped_allgather([value, value])[1], [[1, 1], [1, 1], [2, 2], [2, 2]]),
    ("broadcast", lambda value: hvd.broadcast(value, 1), [[2, 2], [2, 2]]),
    ("alltoall", hvd.alltoall, [[1, 1], [2, 2]]),
    ("alltoall with splits", lambda value: hvd.alltoall(value, [1, 1])[0], [[1, 1], [2, 2]]))


def slices(values, indices):
    return tf.IndexedSlices(values, indices, tf.constant([2, 2]))


def of_graph(is_resource):
    """The kinds of a graph, whose variables are references unless they are resources."""
    def variable(initial=own):
        return v1.get_variable("variable_%d" % initial.ndim, initializer=initial, use_resource=is_resource)
    return (("variable", variable), ("assign", lambda: variable().assign(own)),
            ("assign_add", lambda: variable().assign_add(own * 0)),
            ("slices", lambda: slices(variable().assign(own), variable(np.arange(2)).assign([0, 1]))))


def check(kind, make, run):
    for name, operation, expected in OPERATIONS:
        result = run(lambda: operation(make()))
        assert np.allclose(result, expected), (name, kind, result)


def in_graph(make):
    with tf.Graph().as_default(), v1.Session() as session:
        result = tf.convert_to_tensor(make())
        session.run(v1.global_variables_initializer())
        return session.run(result)


for resource in False, True:
    for kind, make in of_graph(resource):
        check((kind, "resource" if resource else "reference"), make, in_graph)
if tf.__version__[0] != "1":
    for kind, make in (("tensor", lambda: tf.constant(own)), ("variable", lambda: tf.Variable(own)),
                       ("assign", lambda: tf.Variable(own).assign(own)),
                       ("slices", lambda: slices(tf.constant(own), tf.constant([0, 1])))):
        check(kind, make, lambda work: tf.convert_to_tensor(work()).numpy())
os.write(1, ("rank %d of %d is fine\n" % (hvd.rank(), hvd.size())).encode())
