#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tensorflow_step.py KIND WAY STEPS _ - steps of training with TensorFlow 2 and Keras 3, of the walk-through's network.
KIND: eager, function (tf.function) or keras (fit()). WAY: horovod or mirrored (MultiWorkerMirroredStrategy; under fit()
with tf_keras, for Keras 3 refuses it). Rank 0 prints "trained STEP COMPUTE": milliseconds, medians of a step and of one
without communication, if all ranks have the same weights in the end."""

import json
import os
import socket
import statistics
import sys
import time

import numpy as np
import tensorflow as tf

import horovod.tensorflow as hvd
from horovod.common import objects

if sys.argv[1:3] == ["keras", "mirrored"]:
    import tf_keras as KERAS
else:
    KERAS = tf.keras
BATCH = 32
CALLS = 10  # of fit(): steps of one call are not seen apart


def build():
    """The network of the walk-through's script, without its dropouts."""
    KERAS.utils.set_random_seed(1)
    layers = KERAS.layers
    return KERAS.Sequential([
        layers.Input((32, 32, 3)), layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(512, activation="relu"), layers.Dense(10)])


def optimizer():
    return KERAS.optimizers.SGD(0.01)


def loss_of(truth, prediction):
    return KERAS.losses.sparse_categorical_crossentropy(truth, prediction, from_logits=True)


def median_time(count, function):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        function()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def stepping(kind, model, wrap_tape, run):
    """The function that makes a step. run: of a strategy."""
    chosen = optimizer()
    chosen.build(model.trainable_variables)

    def of_rank(images, labels):
        with wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_sum(loss_of(labels, model(images, training=True))) / BATCH
        gradients = tape.gradient(loss, model.trainable_variables)
        chosen.apply_gradients(zip(gradients, model.trainable_variables))

    def step(images, labels):
        run(of_rank, (images, labels))
    return tf.function(step) if kind == "function" else step


def measure(kind, steps, model, data, distributed, scope, run=lambda function, arguments: function(*arguments)):
    """Milliseconds of a step. distributed: with Horovod's tape or optimizer."""
    images, labels = data
    if kind == "keras":
        with scope():
            chosen = optimizer()
            if distributed:
                import horovod.keras
                chosen = horovod.keras.DistributedOptimizer(chosen)
            model.compile(chosen, loss=loss_of, jit_compile=False)
        if scope is not NoScope:  # a strategy deals a batch out to the ranks
            images, labels = (tf.concat([part] * hvd.size(), 0) for part in (images, labels))
        batches = tf.data.Dataset.from_tensors((images, labels)).repeat(CALLS)
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        batches = batches.with_options(options)
        model.fit(batches, epochs=2, verbose=0)
        return median_time(max(3, steps // 3), lambda: model.fit(batches, verbose=0)) / CALLS
    with scope():
        step = stepping(kind, model, hvd.DistributedGradientTape if distributed else lambda tape: tape, run)
    for _ in range(8):
        step(images, labels)
    return median_time(steps, lambda: step(images, labels))


class NoScope:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def mirrored():
    """MultiWorkerMirroredStrategy over all ranks, which tell each other where they are."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        here = "%s:%d" % (socket.gethostbyname(socket.gethostname()) if hvd.cross_size() > 1 else "127.0.0.1",
                          taken.getsockname()[1])
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": objects.allgather_object(here)},
                                          "task": {"type": "worker", "index": hvd.rank()}})
    return tf.distribute.MultiWorkerMirroredStrategy()


def main():
    kind, way, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    hvd.init()
    strategy = mirrored() if way == "mirrored" else None  # before anything else of TensorFlow's
    numbers = np.random.RandomState(hvd.rank())
    data = (tf.constant(numbers.rand(BATCH, 32, 32, 3).astype("float32")), tf.constant(numbers.randint(0, 10, (BATCH, 1))))
    alone = build()
    objects.allgather_object(None)
    compute = measure(kind, steps, alone, data, False, NoScope)
    objects.allgather_object(None)
    if strategy:
        with strategy.scope():
            model = build()
        step = measure(kind, steps, model, data, False, strategy.scope, strategy.run)
    else:
        model = build()
        step = measure(kind, steps, model, data, True, NoScope)
    sums = [float(np.sum(value, dtype="float64")) for value in model.get_weights()]
    if any(one != sums for one in objects.allgather_object(sums)):
        sys.exit("the ranks have different weights")
    if hvd.rank() == 0:
        print("trained %.2f %.2f" % (step, compute), flush=True)


main()
