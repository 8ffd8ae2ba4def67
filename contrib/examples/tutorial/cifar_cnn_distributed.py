#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train the network of Keras's cifar10_cnn example on all ranks of a job, with Horovod.

    cifar_cnn_distributed.py [--dir DIR] [--data DIR] [--epochs N] [--batch-size N]

A port to PyTorch of the walk-through's script; what Horovod adds to a single-process script is
marked "Horovod:". With --data it reads CIFAR-10's python batches; without, cifar_images.py beside it
draws images. Rank 0 saves the weights as HDF5 to DIR/saved_models/keras_cifar10_trained_model.h5.

Runs under any launcher that our collectives know (batchai-launch, mpirun, srun --mpi=pmix), or
alone. Exit code: 0, or 1 after one line that says what was wrong.
"""
import argparse
import math
import os
import sys
import time

import h5py
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import cifar_images
import horovod.torch as hvd

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


# --- The network, as in Keras's example.


def build_network():
    network = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(),
        nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(64 * 6 * 6, 512), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(512, len(cifar_images.CLASSES)))
    for layer in network:  # as Keras does; PyTorch's own start takes epochs longer to get going
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return network


def to_tensors(images, labels, device):
    """(n, 32, 32, 3) bytes and n labels as (n, 3, 32, 32) floats in [-0.5, 0.5] and int64."""
    pixels = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
    return pixels.to(device).float().div_(255).sub_(0.5), torch.from_numpy(labels).to(device)


def train_epoch(model, optimizer, images, labels, batch_size):
    """One pass over this rank's shard; returns its mean loss and accuracy."""
    model.train()
    loss_sum = correct = 0.0
    for batch in torch.randperm(len(labels)).split(batch_size):
        optimizer.zero_grad()
        scores = model(images[batch])
        loss = F.cross_entropy(scores, labels[batch])
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(batch)
        correct += (scores.argmax(1) == labels[batch]).sum().item()
    return loss_sum / len(labels), correct / len(labels)


def evaluate(model, images, labels):
    """Mean loss and accuracy over the validation images of all ranks."""
    model.eval()
    totals = torch.zeros(3, dtype=torch.float64)  # loss, correct, count
    with torch.no_grad():
        for pixels, truth in zip(images.split(250), labels.split(250)):
            scores = model(pixels)
            totals[0] += F.cross_entropy(scores, truth, reduction="sum").item()
            totals[1] += (scores.argmax(1) == truth).sum().item()
            totals[2] += len(truth)
    loss, correct, count = hvd.allreduce(totals, name="validation", op=hvd.Sum).tolist()
    return loss / count, correct / count


def save(model, folder):
    """Write the weights beside their final name first: a reader never sees half a file."""
    path = os.path.join(folder, MODEL_NAME)
    with h5py.File(path + ".part", "w") as file:
        file.attrs["classes"] = len(cifar_images.CLASSES)
        for name, tensor in model.state_dict().items():
            file["model_weights/" + name.replace(".", "/")] = tensor.cpu().numpy()
    os.replace(path + ".part", path)
    return path


def prepare(arguments):
    """The data, after making the folder for the model: what can fail fails before the training."""
    folder = os.path.join(arguments.dir, "saved_models")
    if hvd.rank() == 0:
        os.makedirs(folder, exist_ok=True)
    return cifar_images.load(arguments.data), folder


def main():
    arguments = parse_arguments()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))

    # Horovod: connect to the other ranks.
    hvd.init()

    # Horovod: one GPU per rank of a node.
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
        torch.cuda.set_device(device)

    try:
        result, error = prepare(arguments), None
    except OSError as caught:
        result, error = None, str(caught)
    errors = [text for text in hvd.allgather_object(error) if text]
    if errors:  # the same list on every rank: one rank speaks for all
        sys.exit("cifar_cnn_distributed.py: " + errors[0] if hvd.rank() == 0 else 1)
    ((x_train, y_train), (x_test, y_test)), folder = result
    if hvd.rank() == 0:
        print("x_train shape:", x_train.shape)
        print(x_train.shape[0], "train samples")
        print(x_test.shape[0], "test samples", flush=True)

    # Horovod: each rank has its shard, of the same length everywhere, and so the same steps.
    shard = slice(hvd.rank(), len(x_train) // hvd.size() * hvd.size(), hvd.size())
    images, labels = to_tensors(x_train[shard], y_train[shard], device)
    share = slice(hvd.rank(), None, hvd.size())
    test_images, test_labels = to_tensors(x_test[share], y_test[share], device)

    # Horovod: N ranks together do the work of one in an N-th of the epochs ...
    epochs = int(math.ceil(arguments.epochs / hvd.size()))

    torch.manual_seed(1)
    model = build_network().to(device)
    # Horovod: ... with a learning rate as many times larger as the batches are.
    optimizer = torch.optim.RMSprop(model.parameters(), lr=LEARNING_RATE * hvd.size(), alpha=0.9,
                                    eps=1e-7)

    # Horovod: average the gradients of all ranks in every step.
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    # Horovod: all ranks start from rank 0's weights.
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
    torch.manual_seed(1 + hvd.rank())  # the order of the images and dropout differ between ranks
    for epoch in range(1, epochs + 1):
        start = time.monotonic()
        loss, accuracy = train_epoch(model, optimizer, images, labels, arguments.batch_size)
        schedule.step()
        print("Epoch %d/%d - rank %d of %d - %.0fs - loss: %.4f - acc: %.4f"
              % (epoch, epochs, hvd.rank(), hvd.size(), time.monotonic() - start, loss, accuracy),
              flush=True)

    loss, accuracy = evaluate(model, test_images, test_labels)
    # Horovod: only rank 0 saves, the others would overwrite its file.
    if hvd.rank() == 0:
        print("Saved trained model at", save(model, folder))
        print("Test loss: %.4f" % loss)
        print("Test accuracy: %.4f" % accuracy, flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    main()
