#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""horovod.tensorflow: join, Adasum and SyncBatchNormalization's gradients, on TensorFlow 1.8 and newer."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

import horovod.tensorflow as hvd

v1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
hvd.init()
rank, size = hvd.rank(), hvd.size()


def adasum(vectors):
    """Of the ranks' vectors: by halves, from the formula of the paper."""
    while len(vectors) > 1:
        pairs = list(zip(vectors[::2], vectors[1::2]))
        vectors = [(1 - a.dot(b) / (2 * a.dot(a))) * a + (1 - a.dot(b) / (2 * b.dot(b))) * b
                   for a, b in pairs] + vectors[len(pairs) * 2:]
    return vectors[0]


def vector(of_rank):
    return np.random.RandomState(of_rank).rand(5) + 0.1


expected = adasum([vector(one) for one in range(size)])


def check_graph():
    """In a graph, with sessions: the only way of TensorFlow 1."""
    with tf.Graph().as_default(), v1.Session() as session:
        combined = hvd.allreduce(tf.constant(vector(rank)), op=hvd.Adasum)
        assert np.allclose(session.run(combined), expected)
        for passes in (1, 2):
            weights = v1.get_variable("weights_%d" % passes, initializer=np.ones(5))
            optimizer = hvd.DistributedOptimizer(v1.train.GradientDescentOptimizer(0.5), op=hvd.Adasum,
                                                 backward_passes_per_step=passes,
                                                 name="Adasum%d" % passes)
            # The gradient is the rank's vector, whatever the weights are.
            step = optimizer.minimize(tf.reduce_sum(weights * tf.constant(vector(rank))),
                                      var_list=[weights])
            session.run(v1.global_variables_initializer())
            for number in range(2 * passes):
                alone = session.run(weights)
                session.run(step)
                if (number + 1) % passes:
                    assert np.allclose(session.run(weights), alone - 0.5 * vector(rank))
            assert np.allclose(session.run(weights), 1 - 2 * passes * 0.5 * expected)
        # The last rank has more data than the others; the ends of all are one.
        if rank == size - 1:
            summed = session.run(hvd.allreduce(tf.constant([3.0, 4.0]), op=hvd.Sum, name="more"))
            assert summed.tolist() == [3.0, 4.0], summed
        assert session.run(hvd.join()) == size - 1


def check_eager():
    """The same eagerly, and what TensorFlow 1.8 lacks."""
    assert np.allclose(hvd.allreduce(vector(rank), op=hvd.Adasum), expected)
    weights = tf.Variable(np.ones(5))
    with hvd.DistributedGradientTape(tf.GradientTape(), op=hvd.Adasum) as tape:
        loss = tf.reduce_sum(weights * vector(rank))
    assert np.allclose(tape.gradient(loss, weights), expected)
    optimizer = hvd.DistributedOptimizer(v1.train.GradientDescentOptimizer(0.5), op=hvd.Adasum)
    optimizer.apply_gradients([(tf.constant(vector(rank)), weights)])
    assert np.allclose(weights, 1 - 0.5 * expected)
    for refused in (tf.constant([1, 2]), tf.IndexedSlices(tf.ones([1, 1]), tf.constant([0]))):
        try:
            hvd.allreduce(refused, op=hvd.Adasum)
            raise AssertionError("Adasum took %r" % refused)
        except (ValueError, NotImplementedError):
            pass
    if rank == 0:
        assert hvd.allreduce(tf.ones([2]), op=hvd.Sum, name="more").numpy().tolist() == [1.0, 1.0]
        assert np.allclose(hvd.allreduce(tf.ones([2]), name="average"), 1.0 / size)
    hvd.join()
    check_batch_norm()


def check_batch_norm():
    """Values and gradients on all ranks are those of one rank that has the whole batch."""
    whole = np.random.RandomState(7).rand(4 * size, 3, 2).astype("float32")
    factors = np.random.RandomState(8).rand(4 * size, 3, 2).astype("float32")
    own = slice(4 * rank, 4 * rank + 4)
    results = []
    for layer, mine in ((tf.keras.layers.BatchNormalization(), slice(None)),
                        (hvd.SyncBatchNormalization(), own)):
        inputs = tf.constant(whole[mine])
        layer.build(inputs.shape)
        layer.set_weights([np.array(value, "float32") for value in ([2, 3], [1, 0], [0, 0], [1, 1])])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(inputs)
            loss = tf.reduce_mean(tf.square(layer(inputs, training=True)) * factors[mine])
        gamma, beta = tape.gradient(loss, layer.trainable_variables)
        results.append([loss, gamma, beta] + [tape.gradient(loss, inputs)]
                       + list(layer.non_trainable_variables))
    reference, (loss, gamma, beta, inner, mean, variance) = results
    found = [hvd.allreduce(loss), hvd.allreduce(gamma), hvd.allreduce(beta)]
    for one, other in zip(found, reference):
        assert np.allclose(one, other, atol=1e-5), (one, other)
    assert np.allclose(inner / size, reference[3][own], atol=1e-6), (inner / size, reference[3][own])
    assert np.allclose(mean, reference[4], atol=1e-6) and np.allclose(variance, reference[5], atol=1e-6)
    tf.keras.Sequential([hvd.SyncBatchNormalization(input_shape=(2,)), hvd.SyncBatchNormalization()])


check_graph()
if tf.__version__[0] != "1":
    check_eager()
os.write(1, ("rank %d of %d is fine\n" % (rank, size)).encode())  # a line in one write stays whole
