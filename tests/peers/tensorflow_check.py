#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""horovod.tensorflow on TensorFlow 2: sums, gradients and errors are right, eagerly and in graphs.

Twice: with libbatchai_tensorflow, and with the library that the argument names, which is not there.
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

import horovod.tensorflow as hvd
from horovod.tensorflow.ops import native

tf.config.threading.set_inter_op_parallelism_threads(2)
hvd.init()
rank, size = hvd.rank(), hvd.size()


def values(of_rank, count=7):
    """Numbers of a rank whose sums depend on the order in which they are added."""
    return np.random.RandomState(of_rank).standard_normal(count).astype("float32")


def check():
    """Everything, from init() to another init()."""
    # Bit by bit what adding up on one machine gives, which for two ranks is one sum.
    expected = (values(0) + values(1)) if size == 2 else None
    for reduce in (hvd.allreduce, tf.function(lambda tensor, op: hvd.allreduce(tensor, op=op, name="sum"))):
        got = reduce(tf.constant(values(rank)), op=hvd.Sum).numpy()
        assert expected is None or np.array_equal(got, expected), (got, expected)

    # More operations that do not depend on each other than TensorFlow has threads, in another order on each rank.
    order = list(range(24)) if rank % 2 == 0 else list(range(23, -1, -1))

    @tf.function
    def many(tensors):
        return {number: hvd.allreduce(tensors[number], op=hvd.Sum, name="many.%d" % number)
                for number in order}

    def check_many(reduce):
        results = reduce([tf.fill([3], float(number * (rank + 1))) for number in range(24)])
        for number, result in results.items():
            assert np.allclose(result, number * size * (size + 1) / 2), (number, result)

    if native._load():
        check_many(many)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            gathered = [hvd.allgather(tf.fill([number + 1], rank), name="gather.%d" % number)
                        for number in range(24)]
            for number, result in enumerate(session.run(gathered)):
                assert result.tolist() == sum([[one] * (number + 1) for one in range(size)], [])

    # What depends on constants only is reduced in each step.
    constants = tf.function(lambda: hvd.allreduce(tf.constant([1.0, 2.0]), op=hvd.Sum, name="constant"))
    assert all(constants().numpy().tolist() == [size, 2.0 * size] for _ in range(3))

    # Gradients.
    variable = tf.Variable([1.0, 2.0])
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_sum(variable * float(rank + 1))
    assert np.allclose(tape.gradient(loss, [variable])[0], (size + 1) / 2.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(hvd.allgather(variable) * 2.0)
    assert np.allclose(tape.gradient(loss, variable), 2.0)
    if native._load():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:  # whose gradient only the root uses
            source = tf.constant([1.0, 2.0])
            gradient = tf.gradients(hvd.broadcast(source, size - 1, name="source") * 3.0, source)[0]
            assert session.run(gradient).tolist() == [3.0 * (rank == size - 1)] * 2
    received, counts = hvd.alltoall(tf.range(size * 2), [2] * size)
    assert counts.numpy().tolist() == [2] * size and received.shape == [size * 2]
    assert hvd.reducescatter(tf.ones([size, 2]), op=hvd.Sum).numpy().tolist() == [[size, size]]
    assert hvd.broadcast_object({"rank": rank}, root_rank=size - 1) == {"rank": size - 1}

    # A group of tensors and slices, in their order; the slices' rows are those of all ranks.
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([rank]), tf.constant([size, 2]))
    first, rows, last = hvd.grouped_allreduce([tf.ones([2]), slices, tf.fill([3], float(rank))],
                                              op=hvd.Sum, name="mixed")
    assert first.numpy().tolist() == [size] * 2 and np.allclose(last, size * (size - 1) / 2)
    assert tf.convert_to_tensor(rows).numpy().tolist() == [[1.0, 1.0]] * size

    # A mismatch is an error on all ranks, and the job goes on.
    for reduce in (hvd.allreduce, tf.function(lambda tensor: hvd.allreduce(tensor, name="mismatch"))):
        try:
            reduce(tf.ones([2 + rank]))
            raise AssertionError("ranks of different shapes were reduced")
        except (hvd.HorovodInternalError, tf.errors.OpError) as error:
            assert "float32" in str(error), error

    # After shutdown a graph says so, and init() makes it work again.
    summed = tf.function(lambda tensor: hvd.allreduce(tensor, op=hvd.Sum, name="again"))
    assert float(summed(tf.constant(1.0))) == size
    hvd.shutdown()
    try:
        summed(tf.constant(1.0))
        raise AssertionError("an operation was done after shutdown()")
    except (ValueError, tf.errors.OpError):
        pass
    hvd.init()


check()
assert native._load(), native._problem
native._library = native._problem = None
os.environ["BATCHAI_TENSORFLOW_LIBRARY"] = sys.argv[1]
check()
assert not native._load()
os.write(1, ("rank %d of %d is fine\n" % (rank, size)).encode())  # a line in one write stays whole
