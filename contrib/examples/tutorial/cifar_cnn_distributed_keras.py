#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train the network of Keras's cifar10_cnn example on all ranks of a job, with Horovod.

    cifar_cnn_distributed_keras.py [--dir DIR] [--data DIR] [--epochs N] [--batch-size N]

The walk-through's script for Keras 3; what Horovod adds to a single-process script is marked
"Horovod:". With --data it reads CIFAR-10's python batches; without, cifar_images.py beside it draws
images. Rank 0 saves the model to DIR/saved_models/keras_cifar10_trained_model.h5.

Runs under any launcher that our collectives know (batchai-launch, mpirun, srun --mpi=pmix), or
alone. Exit code: 0, or 1 after one line that says what was wrong.
"""
import argparse
import math
import os
import sys
import time

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # noqa: E402
import numpy as np
import tensorflow as tf
from keras import layers

import cifar_images
import horovod.keras as hvd
from horovod.tensorflow import allgather_object

MODEL_NAME = "keras_cifar10_trained_model.h5"
LEARNING_RATE = 2.5e-4  # of one rank with batches of 32


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", default=".", help="folder below which the model is saved")
    parser.add_argument("--data", help="folder with CIFAR-10's data_batch_1 to 5 and test_batch")
    parser.add_argument("--epochs", type=int, default=20,
                        help="of one rank; N ranks do an N-th of them each (default 20)")
    parser.add_argument("--batch-size", type=int, default=32, help="per rank (default 32)")
    arguments = parser.parse_args()
    if arguments.epochs < 1 or arguments.batch_size < 1:
        parser.error("--epochs and --batch-size must be at least 1")
    return arguments


def build_network():
    """As in Keras's example."""
    return keras.Sequential([
        layers.Input((32, 32, 3)),
        layers.Conv2D(32, 3, padding="same", activation="relu"), layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(), layers.Dropout(0.25),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(), layers.Dropout(0.25),
        layers.Flatten(), layers.Dense(512, activation="relu"), layers.Dropout(0.5),
        layers.Dense(len(cifar_images.CLASSES), activation="softmax")])


class Progress(keras.callbacks.Callback):
    """A line for each epoch of this rank."""

    def on_epoch_begin(self, epoch, logs=None):
        self._start = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        print("Epoch %d/%d - rank %d of %d - %.0fs - loss: %.4f - acc: %.4f"
              % (epoch + 1, self.params["epochs"], hvd.rank(), hvd.size(),
                 time.monotonic() - self._start, logs["loss"], logs["accuracy"]), flush=True)


def evaluate(model, images, labels):
    """Mean loss and accuracy over the validation images of all ranks."""
    means = np.array(model.evaluate(images, labels, batch_size=250, verbose=0))
    totals = hvd.allreduce(np.append(means * len(labels), len(labels)), name="validation", op=hvd.Sum)
    return [float(total) / float(totals[2]) for total in totals[:2]]


def prepare(arguments):
    """The data, after making the folder for the model: what can fail fails before the training."""
    folder = os.path.join(arguments.dir, "saved_models")
    if hvd.rank() == 0:
        os.makedirs(folder, exist_ok=True)
    return cifar_images.load(arguments.data), folder


def main():
    arguments = parse_arguments()
    tf.config.threading.set_intra_op_parallelism_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))

    # Horovod: connect to the other ranks.
    hvd.init()

    # Horovod: one GPU per rank of a node.
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        for gpu in gpus:  # ranks may share one
            tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices(gpus[hvd.local_rank() % len(gpus)], "GPU")

    try:
        result, error = prepare(arguments), None
    except OSError as caught:
        result, error = None, str(caught)
    errors = [text for text in allgather_object(error) if text]
    if errors:  # the same list on every rank: one rank speaks for all
        sys.exit(os.path.basename(sys.argv[0]) + ": " + errors[0] if hvd.rank() == 0 else 1)
    ((x_train, y_train), (x_test, y_test)), folder = result
    if hvd.rank() == 0:
        print("x_train shape:", x_train.shape)
        print(x_train.shape[0], "train samples")
        print(x_test.shape[0], "test samples", flush=True)
    x_train, x_test = (images.astype("float32") / 255 - 0.5 for images in (x_train, x_test))

    # Horovod: each rank has its shard, of the same length everywhere, and so the same steps.
    shard = slice(hvd.rank(), len(x_train) // hvd.size() * hvd.size(), hvd.size())
    share = slice(hvd.rank(), None, hvd.size())

    # Horovod: N ranks together do the work of one in an N-th of the epochs ...
    epochs = int(math.ceil(arguments.epochs / hvd.size()))

    # Horovod: the order of the images and dropout differ between ranks.
    keras.utils.set_random_seed(1 + hvd.rank())
    model = build_network()
    # Horovod: ... with a learning rate as many times larger as the batches are.
    rate = LEARNING_RATE * hvd.size()
    optimizer = keras.optimizers.RMSprop(rate)

    # Horovod: average the gradients of all ranks in every step.
    optimizer = hvd.DistributedOptimizer(optimizer)
    model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"],
                  jit_compile=False)
    callbacks = [
        # Horovod: all ranks start from rank 0's weights.
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        keras.callbacks.LearningRateScheduler(lambda epoch: rate * (1 - epoch / epochs)),
        Progress()]
    model.fit(x_train[shard], y_train[shard], batch_size=arguments.batch_size, epochs=epochs,
              callbacks=callbacks, verbose=0)

    loss, accuracy = evaluate(model, x_test[share], y_test[share])
    # Horovod: only rank 0 saves, the others would overwrite its file.
    if hvd.rank() == 0:
        path = os.path.join(folder, MODEL_NAME)
        part = os.path.join(folder, "part-" + MODEL_NAME)
        model.save(part)
        os.replace(part, path)  # a reader never sees half a file
        print("Saved trained model at", path)
        print("Test loss: %.4f" % loss)
        print("Test accuracy: %.4f" % accuracy, flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    main()
