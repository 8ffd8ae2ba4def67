#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train a small network in a loop over tf.function; after the loss of a rank or a node the job goes on.

    batchai-launch --restarts 3 python tensorflow_elastic.py [--steps N] [--commit-every N] [--die-at STEP]

What Horovod adds to a single-process script is marked "Horovod:". Each attempt goes on from the
last commit. Rank 0 prints the loss at each commit. --die-at shows how that works: in the first
attempt the last rank kills itself before this step.
"""
import argparse
import os
import signal

import numpy as np
import tensorflow as tf

import horovod.tensorflow as hvd

BATCH = 32  # of one rank
RATE = 0.1  # of one rank


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=200, help="default 200")
    parser.add_argument("--commit-every", type=int, metavar="STEPS", default=50, help="default 50")
    parser.add_argument("--die-at", type=int, metavar="STEP", help="1 is the first step")
    return parser.parse_args()


def make_batch(step):
    """Points of a sphere, and whether they are near one of its poles. Drawn anew for each step and rank."""
    numbers = np.random.RandomState(step * hvd.size() + hvd.rank())
    points = numbers.standard_normal((BATCH, 3)).astype("float32")
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return tf.constant(points), tf.constant((np.abs(points[:, 2:]) > 0.5).astype("float32"))


def main():
    arguments = parse_arguments()

    # Horovod: connect to the other ranks.
    hvd.init()

    numbers = np.random.RandomState(1)
    first, second = (tf.Variable(numbers.standard_normal(shape).astype("float32") / 2)
                     for shape in ((3, 16), (16, 1)))
    bias, offset = tf.Variable(tf.zeros(16)), tf.Variable(0.0)
    variables = [first, bias, second, offset]
    rate = RATE * hvd.size()

    @tf.function
    def train_step(points, labels):
        # Horovod: average the gradients of all ranks.
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            logits = tf.nn.relu(points @ first + bias) @ second + offset
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(rate * gradient)
        return loss

    # Horovod: what outlives an attempt: the variables, and the number of steps.
    state = hvd.elastic.TensorFlowState(variables, step=0)

    @hvd.elastic.run
    def train(state):
        first_attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        while state.step < arguments.steps:
            if state.step + 1 == arguments.die_at and first_attempt and hvd.rank() == hvd.size() - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            loss = train_step(*make_batch(state.step))
            state.step += 1
            if state.step % arguments.commit_every == 0:
                if hvd.rank() == 0:
                    print("step %d on %d ranks - loss: %.4f" % (state.step, hvd.size(), loss), flush=True)
                # Horovod: the next attempt goes on from here.
                state.commit()

    train(state)


if __name__ == "__main__":
    main()
