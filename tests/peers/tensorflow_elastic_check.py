#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An elastic training of TensorFlow 1.8 and newer goes on from its last commit after a rank has died.

tensorflow_elastic_check.py variables|loop|fit - of a launch with --restarts 1: TensorFlowState;
TensorFlowKerasState in a loop of the script's own, or under fit() with Horovod's callbacks.
"""
import os
import signal
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

import horovod.tensorflow as hvd

EPOCHS, BATCHES = 3, 4
hvd.init()
rank, size = hvd.rank(), hvd.size()
first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
resets = []


def die_at(epoch, batch):
    """In the first attempt the last rank dies in the middle of the second epoch."""
    if first and (epoch, batch) == (1, 2):
        hvd.allreduce(tf.constant(1.0), name="together") if tf.__version__[0] != "1" else None
        if rank == size - 1:
            os.kill(os.getpid(), signal.SIGKILL)


def variables():
    """A variable that counts steps: of a session in TensorFlow 1."""
    if tf.__version__[0] == "1":
        variable, step = tf.Variable(np.float64(rank)), tf.placeholder(tf.float64, [])
        reduced = variable.assign_add(hvd.allreduce(step, op=hvd.Sum, name="step"))
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        state = hvd.elastic.TensorFlowState([variable], session=session, epoch=0, batch=0)
        return state, lambda: session.run(reduced, {step: 1.0}), lambda: session.run(variable)
    variable = tf.Variable(np.float64(rank))
    state = hvd.elastic.TensorFlowState([variable], epoch=0, batch=0)
    return state, lambda: variable.assign_add(hvd.allreduce(tf.constant(1.0, tf.float64), op=hvd.Sum,
                                                            name="step")), variable.numpy


def made_model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, input_shape=(1,),
                                                       kernel_initializer="ones")])
    model.set_weights([np.full((1, 1), float(rank))])
    return model


def loop():
    """The gradient is -1 on each rank, and the momentum 1: a step adds one more than the one before."""
    model, optimizer = made_model(), tf.keras.optimizers.SGD(1.0, momentum=1.0)
    state = hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0, batch=0)

    def step():
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            loss = -tf.reduce_sum(model(tf.ones([1, 1])))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                      model.trainable_variables))
    return state, step, lambda: float(model.get_weights()[0][0, 0])


def train_by_steps(state, step, value):
    @hvd.elastic.run
    def train(state):
        resets.append((state.epoch, state.batch, float(value())))
        while state.epoch < EPOCHS:
            while state.batch < BATCHES:
                die_at(state.epoch, state.batch)
                step()
                state.batch += 1
                state.commit()
            state.epoch, state.batch = state.epoch + 1, 0
            state.commit()
    train(state)
    return float(value())


def train_by_fit():
    import horovod.tensorflow.keras as hvd_keras
    model = made_model()
    optimizer = hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(1.0, momentum=1.0))
    model.compile(optimizer, lambda truth, prediction: -prediction)
    state = hvd_keras.elastic.KerasState(model, epoch=0, batch=0)

    class Dies(tf.keras.callbacks.Callback):
        def on_batch_begin(self, batch, logs=None):
            die_at(state.epoch, batch)

    @hvd_keras.elastic.run
    def train(state):
        resets.append((state.epoch, state.batch, float(model.get_weights()[0][0, 0])))
        model.fit(np.ones((BATCHES - state.batch, 1)), np.ones((BATCHES - state.batch, 1)), 1, verbose=0,
                  epochs=state.epoch + 1, initial_epoch=state.epoch,
                  callbacks=[hvd_keras.elastic.UpdateBatchStateCallback(state),
                             hvd_keras.elastic.UpdateEpochStateCallback(state),
                             hvd_keras.elastic.CommitStateCallback(state), Dies()])
        if state.epoch < EPOCHS:
            train.__wrapped__(state)
    train(state)
    return float(model.get_weights()[0][0, 0])


kind = sys.argv[1]
found = train_by_fit() if kind == "fit" else train_by_steps(*{"variables": variables, "loop": loop}[kind]())
steps, before = EPOCHS * BATCHES, BATCHES + 2  # in all, and up to the death
expected = {"variables": lambda count: size * count}.get(kind, lambda count: count * (count + 1) // 2)
# Rank 0's start counts, which is zero; no step is lost, and none is done twice.
assert found == expected(steps), (found, expected(steps))
assert not first and resets[0] == (1, 2, expected(before)), resets
os.write(1, ("rank %d of %d is fine\n" % (rank, size)).encode())
