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
path = os.path.join(sys.argv[1], "model.h5")
for _ in range(5):
    model.save(path)
assert np.array_equal(hvd.load_model(path).get_weights()[0], model.get_weights()[0])
os.write(1, ("rank %d of %d is fine\n" % (hvd.rank(), hvd.size())).encode())
