#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""horovod.keras on Keras 3, on each of its backends: callbacks, load_model, accumulation."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

import horovod.keras as hvd
from horovod.common.objects import allgather_object

hvd.init()
rank, size = hvd.rank(), hvd.size()
keras.utils.set_random_seed(1 + rank)  # different weights: a broadcast has something to do


def compiled(*layers, optimizer, **arguments):
    model = keras.Sequential(list(layers))
    model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(optimizer, **arguments))
    return model


class Rates(keras.callbacks.Callback):
    """Keeps the learning rate of each batch."""

    seen = []

    def on_train_batch_begin(self, batch, logs=None):
        rate = keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)
        self.seen.append(round(float(rate), 6))


model = compiled(keras.layers.Input((4,)), keras.layers.Dense(3, activation="relu"),
                 keras.layers.BatchNormalization(), keras.layers.Dense(1),
                 optimizer=keras.optimizers.SGD(0.1, momentum=0.9))
numbers = np.random.RandomState(rank)
x, y = numbers.rand(32, 4).astype("float32"), numbers.rand(32, 1).astype("float32")
history = model.fit(x, y, batch_size=16, epochs=4, verbose=0, callbacks=[
    hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.1, warmup_epochs=2),
    hvd.callbacks.LearningRateScheduleCallback(initial_lr=0.1, multiplier=0.5, start_epoch=2), Rates()])
trained = [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]
everyone = allgather_object((trained, history.history["loss"]))
for weights, losses in everyone:
    assert all(np.array_equal(a, b) for a, b in zip(weights, everyone[0][0]))
    assert losses == everyone[0][1]
start = 0.1 / size
assert np.allclose(Rates.seen, [start + (0.1 - start) * part for part in (.25, .5, .75, 1)] + [0.1] * 2 + [0.05] * 2)

# As until Horovod 0.20: without initial_lr, rank 0's learning rate when the training begins.
model.optimizer.learning_rate = 0.2 + rank
del Rates.seen[:]
model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=[
    hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=1, verbose=1),
    hvd.callbacks.LearningRateScheduleCallback(multiplier=0.5, start_epoch=1), Rates()])
start = 0.2 / size
assert np.allclose(Rates.seen, [start + (0.2 - start) / 2, 0.2, 0.1, 0.1]), Rates.seen

# The momentum of a step is scaled like the learning rate, where the step is compiled, too.
small = compiled(keras.layers.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
                 optimizer=keras.optimizers.SGD(0.1, momentum=0.9))
small.fit(np.ones((8, 1)), np.ones((8, 1)), batch_size=2, epochs=2, shuffle=False, verbose=0,
          callbacks=[hvd.callbacks.LearningRateScheduleCallback(lambda epoch: 0.1 + epoch, staircase=False)])
weight, velocity, old = 0.0, 0.0, 0.1
for batch in range(8):
    new = 0.1 * (0.1 + batch / 4)
    velocity = 0.9 * new / old * velocity + 2 * new * (1 - weight)
    weight, old = weight + velocity, new
assert np.allclose(small.get_weights()[0], weight, atol=1e-5), (small.get_weights(), weight)

try:
    hvd.DistributedOptimizer(small.optimizer)
    raise AssertionError("an optimizer was wrapped twice")
except ValueError as error:
    assert "is one already" in str(error), error

# All ranks save one file, which is a whole one.
path = os.path.join(sys.argv[1], "model.keras")
model.save(path)
loaded = hvd.load_model(path)
for one, other in zip(loaded.optimizer.variables, model.optimizer.variables):
    assert np.array_equal(keras.ops.convert_to_numpy(one), keras.ops.convert_to_numpy(other))
loaded.fit(x, y, batch_size=16, epochs=1, verbose=0)

# A step is that of the ranks' mean gradient, 2 * (0 - label); also of two passes, and where compilation is asked for.
mean = sum(2.0 * (1 + one) for one in range(size)) / size
for passes, rate in ((1, 1.0), (2, 0.5)):
    arguments = {"backward_passes_per_step": passes} if passes > 1 else {}
    small = compiled(keras.layers.Input((1,)),
                     keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
                     optimizer=keras.optimizers.SGD(rate), **arguments)
    small.fit(np.ones((passes, 1)), np.full((passes, 1), 1.0 + rank), batch_size=1, verbose=0)
    assert np.allclose(small.get_weights()[0], mean), (passes, small.get_weights(), mean)
small.compile(loss="mse", optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.0)), jit_compile=True)
small.fit(np.ones((1, 1)), np.ones((1, 1)), verbose=0)

# A layer of a PartialDistributedOptimizer keeps this rank's gradients.
partial = hvd.PartialDistributedOptimizer(keras.optimizers.SGD(1.0), "Partial", "", "", hvd.Compression.none,
                                          local_layers=small.layers, scale_local_gradients=False)
small.set_weights([np.zeros((1, 1))])
small.compile(loss="mse", optimizer=partial)
small.fit(np.ones((1, 1)), np.full((1, 1), 1.0 + rank), verbose=0)
assert np.allclose(small.get_weights()[0], 2.0 * (1 + rank)), small.get_weights()
# Half precision has no number between 1 and 1.00097.
assert float(hvd.allreduce(np.float32(1.0004), op=hvd.Sum, compression=hvd.Compression.fp16)) == size


# Elastic callbacks count what earlier attempts have done, whether fit() counts it too or starts from 0.
class Batches(keras.callbacks.Callback):
    """Keeps state.batch after each batch."""

    def on_train_batch_end(self, batch, logs=None):
        seen.append(state.batch)


for first, batch, expected in ((0, 3, [4, 5, 1, 2]), (5, 0, [1, 2, 1, 2])):
    state, seen = hvd.elastic.KerasState(model, epoch=5, batch=batch), []
    model.fit(x, y, batch_size=16, initial_epoch=first, epochs=first + 2, verbose=0, callbacks=[
        hvd.elastic.UpdateBatchStateCallback(state), hvd.elastic.UpdateEpochStateCallback(state), Batches()])
    assert (state.epoch, state.batch, seen) == (7, 0, expected), (state.epoch, state.batch, seen)
try:
    hvd.elastic.KerasState(keras.Sequential([keras.layers.Dense(1)]))
    raise AssertionError("a state was made of a model without weights")
except ValueError as error:
    assert "model.build" in str(error), error
os.write(1, ("rank %d of %d is fine\n" % (rank, size)).encode())  # a line in one write stays whole
