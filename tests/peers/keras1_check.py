# SPDX-License-Identifier: Apache-2.0
"""horovod.keras on TensorFlow 1 and Keras 2.1, as scripts of that time use it.

Like many of them it makes callbacks that fit() does not get, and saves one file from all ranks.
"""
from __future__ import print_function

import os
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import backend as K

import horovod.keras as hvd
import horovod.tensorflow
from horovod.common.objects import allgather_object

assert "TF_CONFIG" not in os.environ  # the launcher's: an Estimator would see a cluster without a chief
if "TF_USE_LEGACY_KERAS" in os.environ:  # by --compat tf1, whose keras is tensorflow.keras as well
    from tensorflow.keras import backend
    from tensorflow.keras.datasets import mnist
    assert backend is K and tf.keras is keras and mnist is keras.datasets.mnist
hvd.init()
config = tf.ConfigProto(inter_op_parallelism_threads=1)  # an operation that waits would be the only one
K.set_session(tf.Session(config=config))
model = keras.models.Sequential([
    keras.layers.Dense(3, use_bias=False, kernel_initializer="zeros", input_shape=(2,)),
    keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(lr=0.5)))
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
label = 1.0 + hvd.rank()
# As TensorBoard's callback does with what the others leave.
items = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: [logs[name].item() for name in logs])
model.fit(np.ones((1, 2)), np.full((1, 1), label), verbose=0,
          callbacks=[hvd.callbacks.MetricAverageCallback(),
                     hvd.callbacks.LearningRateScheduleCallback(initial_lr=0.5, multiplier=1.0), items])
# The gradient of the first layer is -2 * label in each place: the step is 0.5 * 2 * the labels' mean.
mean = sum(1.0 + rank for rank in range(hvd.size())) / hvd.size()
assert np.array_equal(model.get_weights()[0], np.full((2, 3), mean)), model.get_weights()
assert np.array_equal(hvd.allreduce(np.float32(hvd.rank())), np.float32(mean - 1))


class Seen(keras.callbacks.Callback):
    """Keeps the learning rate and the momentum of each batch."""

    def on_train_begin(self, logs=None):
        self.start, self.numbers = self.model.get_weights()[0], []

    def on_batch_begin(self, batch, logs=None):
        optimizer = self.model.optimizer
        self.numbers.append([K.get_value(optimizer.lr), K.get_value(optimizer.momentum)])


# As until Horovod 0.20: no initial_lr, a number that is the factor of all epochs; variables are there when the training
# begins, and rank 0's learning rate, which it may have loaded, is that of all.
model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(2,), name="only")])
model.set_weights([np.full((2, 1), 1.0 + hvd.rank()), np.zeros(1)])
model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(lr=0.1 + 7 * hvd.rank(), momentum=0.9)))
seen = Seen()
model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=4, epochs=4, verbose=0,
          callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0),
                     hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=1, verbose=1),
                     hvd.callbacks.LearningRateScheduleCallback(multiplier=1., start_epoch=1, end_epoch=2),
                     hvd.callbacks.LearningRateScheduleCallback(lambda epoch: 0.1, 2), seen])
assert np.array_equal(seen.start, np.ones((2, 1))), seen.start
rates, momenta = zip(*seen.numbers)
assert np.allclose(rates, [0.075, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01]), rates
assert np.allclose(momenta, [0.675, 1.2, 0.9, 0.9, 0.09, 0.9, 0.9, 0.9]), momenta  # scaled like the rate, in its batch
for wrap, plain in ((hvd.DistributedOptimizer, keras.optimizers.SGD(lr=0.5)),
                    (horovod.tensorflow.DistributedOptimizer, tf.train.GradientDescentOptimizer(0.5))):
    try:
        wrap(wrap(plain))
        raise AssertionError("an optimizer was wrapped twice")
    except ValueError as error:
        assert "is one already" in str(error), error
path = os.path.join(sys.argv[1], "model.h5")
for _ in range(5):
    model.save(path)
assert np.array_equal(hvd.load_model(path).get_weights()[0], model.get_weights()[0])

# Only rank 0 loads the model, with its optimizer; the others make theirs anew, as Horovod's example of ResNet does. Since
# TensorFlow 2 the optimizer's variables have other names when they are loaded.
if tf.__version__.startswith("1."):
    weights = model.get_weights()
    K.clear_session()
    K.set_session(tf.Session(config=config))
    if hvd.rank() == 0:
        model = hvd.load_model(path)
    else:
        model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(2,), name="only")])
        model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(lr=7.0, momentum=0.9)))
    seen = Seen()
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=4, verbose=0,
              callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), seen,
                         hvd.callbacks.LearningRateScheduleCallback(multiplier=1.)])
    assert np.array_equal(seen.start, weights[0]), (seen.start, weights)
    assert np.allclose(seen.numbers, [[0.01, 0.9]] * 2), seen.numbers

# With a generator, and without input shapes, variables come with the first batch: the ranks are one model after it.
K.clear_session()
K.set_session(tf.Session(config=config))
shapes = {"input_shape": (2,)} if tf.__version__.startswith("1.") else {}
model = keras.models.Sequential([keras.layers.Dense(1, **shapes)])
model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(lr=0.1, momentum=0.9)))
fit = getattr(model, "fit_generator", model.fit)
fit(((np.full((4, 2), 1.0 + hvd.rank()), np.ones((4, 1))) for _ in range(4)), steps_per_epoch=4, verbose=0,
    callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
everyone = allgather_object(model.get_weights(), name="weights")
assert all(np.array_equal(one, other) for weights in everyone for one, other in zip(weights, everyone[0])), everyone

# Where only the names of variables differ, places count; where shapes do, all ranks say so.
for shape in ((3,), (4 + hvd.rank(),)):
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("of_rank_%d" % hvd.rank(), initializer=np.full(shape, 1.0 + hvd.rank()))
        try:
            given = horovod.tensorflow.broadcast_global_variables(0)
            assert shape == (3,), shape
        except ValueError as error:
            assert shape != (3,) and "number 0 is of_rank_0_0 float64 (4,) on the first rank" in str(error), error
            continue
        session.run(tf.global_variables_initializer())
        session.run(given)
        assert np.array_equal(session.run(variable), np.ones(3))
os.write(1, ("rank %d of %d is fine\n" % (hvd.rank(), hvd.size())).encode())
