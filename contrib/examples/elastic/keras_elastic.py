#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train a small network by Keras 3's fit(); after the loss of a rank or a node the job goes on.

    batchai-launch --restarts 3 python keras_elastic.py [--epochs N] [--die-at EPOCH]

What Horovod adds to a single-process script is marked "Horovod:". Each attempt goes on from the
last epoch that all ranks have completed. Rank 0 prints the loss of each epoch. --die-at shows how
that works: in the first attempt the last rank kills itself when this epoch begins.
"""
import argparse
import os
import signal

import keras
import numpy as np

import horovod.keras as hvd

SAMPLES, BATCH = 1024, 32  # of all ranks, and of one
RATE = 0.01  # of one rank


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=8, help="default 8")
    parser.add_argument("--die-at", type=int, metavar="EPOCH", help="1 is the first epoch")
    return parser.parse_args()


def make_data():
    """Points of a sphere, and whether they are near one of its poles; all ranks draw the same."""
    points = np.random.RandomState(1).standard_normal((SAMPLES, 3)).astype("float32")
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, (np.abs(points[:, 2]) > 0.5).astype("float32")


class Progress(keras.callbacks.Callback):
    """Rank 0 prints a line for each epoch."""

    def __init__(self, die_at):
        super().__init__()
        self.die_at = die_at

    def on_epoch_begin(self, epoch, logs=None):
        first_attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        if epoch + 1 == self.die_at and first_attempt and hvd.rank() == hvd.size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_epoch_end(self, epoch, logs=None):
        if hvd.rank() == 0:
            print("epoch %d on %d ranks - loss: %.4f" % (epoch + 1, hvd.size(), logs["loss"]), flush=True)


def main():
    arguments = parse_arguments()

    # Horovod: connect to the other ranks.
    hvd.init()

    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(16, activation="relu"),
                              keras.layers.Dense(1)])
    # Horovod: average the gradients of all ranks in every step.
    optimizer = hvd.DistributedOptimizer(keras.optimizers.Adam(RATE * hvd.size()))
    model.compile(optimizer, loss=keras.losses.BinaryCrossentropy(from_logits=True))

    # Horovod: what outlives an attempt: weights, the optimizer's values, and the number of epochs.
    state = hvd.elastic.KerasState(model, epoch=0)

    # Horovod: the next attempt may have fewer ranks. It has loaded the rate of the last one's.
    def set_rate():
        model.optimizer.learning_rate = RATE * hvd.size()
    state.register_reset_callbacks([set_rate])

    @hvd.elastic.run
    def train(state):
        # Horovod: each rank has its shard, of the same length everywhere, and so the same steps.
        points, labels = make_data()
        shard = slice(hvd.rank(), SAMPLES // hvd.size() * hvd.size(), hvd.size())
        model.fit(points[shard], labels[shard], batch_size=BATCH, verbose=0, shuffle=False,
                  initial_epoch=state.epoch, epochs=arguments.epochs, callbacks=[
                      # Horovod: the mean loss of all ranks; then count the epoch, then keep all that.
                      hvd.callbacks.MetricAverageCallback(), Progress(arguments.die_at),
                      hvd.elastic.UpdateEpochStateCallback(state),
                      hvd.elastic.CommitStateCallback(state, batches_per_commit=SAMPLES)])

    train(state)


if __name__ == "__main__":
    main()
