# SPDX-License-Identifier: Apache-2.0
"""Images for the tutorial's scripts, which import this file from beside them.

load(folder) reads CIFAR-10's python batches. Without a folder it draws 6,000 training and 1,500
validation images of CIFAR's shape, the same on every machine: ten kinds of figures in random places,
sizes and colours under noise, which no linear classifier tells apart. All arrays are as Keras's
cifar10.load_data() returns them: ((images, labels), (images, labels)), images (n, 32, 32, 3) uint8.
"""
import math
import os
import pickle

import numpy as np

CLASSES = ("disk", "ring", "square", "frame", "triangle", "plus", "cross", "rows", "columns",
           "checker")


def load(folder):
    """The images of the folder, or generated ones. OSError: says what is wrong with the folder."""
    if not folder:
        return generate()
    try:
        return load_cifar10(folder)
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError) as error:
        raise OSError("%s: not CIFAR-10's python batches: %r" % (folder, error)) from error


def load_cifar10(folder):
    """CIFAR-10 as distributed: six pickled dicts of b"data" (10000 x 3072) and b"labels"."""

    def load(name):
        with open(os.path.join(folder, name), "rb") as file:
            batch = pickle.load(file, encoding="bytes")
        images = np.asarray(batch[b"data"], np.uint8).reshape(-1, 3, 32, 32)
        return images.transpose(0, 2, 3, 1), np.asarray(batch[b"labels"], np.int64)

    parts = [load("data_batch_%d" % number) for number in range(1, 6)]
    train = tuple(np.concatenate(arrays) for arrays in zip(*parts))
    return train, load("test_batch")


def generate(train_count=6000, test_count=1500, seed=20180601):
    """Labelled pictures of CLASSES; the same arguments give the same pictures everywhere."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(train_count + test_count) % len(CLASSES)
    images = np.concatenate([draw(part, rng) for part in np.array_split(labels, 16)])
    return ((images[:train_count], labels[:train_count]),
            (images[train_count:], labels[train_count:]))


def draw(labels, rng):
    """One image (32, 32, 3) per label: a figure, two colours, a ramp of light and noise."""
    n = len(labels)

    def uniform(low, high, *shape):
        return rng.uniform(low, high, (n, *shape)).astype(np.float32)

    # Coordinates of the figure: u and v run over [-1, 1] on its (tilted, shifted) square.
    axis = np.arange(32, dtype=np.float32)
    half, tilt = uniform(6.5, 10, 1, 1), uniform(-0.25, 0.25, 1, 1)
    y = (axis[:, None] - uniform(10, 22, 1, 1)) / half
    x = (axis[None, :] - uniform(10, 22, 1, 1)) / half
    u, v = x * np.cos(tilt) - y * np.sin(tilt), x * np.sin(tilt) + y * np.cos(tilt)
    radius = np.hypot(u, v)
    outer, inner = np.maximum(abs(u), abs(v)), np.minimum(abs(u), abs(v))
    diagonal = np.minimum(abs(u - v), abs(u + v)) / math.sqrt(2)
    rows, columns = np.sin(3 * math.pi * v) > 0, np.sin(3 * math.pi * u) > 0
    figure = np.choose(labels[:, None, None], (  # in the order of CLASSES
        radius < 0.9,
        (radius > 0.5) & (radius < 0.95),
        outer < 0.8,
        (outer > 0.45) & (outer < 0.85),
        (v < 0.75) & (abs(u) < (v + 0.95) * 0.55),
        (inner < 0.28) & (outer < 0.95),
        (diagonal < 0.28) & (radius < 1.1),
        rows & (outer < 0.9),
        columns & (outer < 0.9),
        (rows == columns) & (outer < 0.9)))[..., None]

    # The figure is darker or lighter than its ground by a random amount, so that no pixel, and no
    # weighted sum of pixels, says which figure it is.
    ground = uniform(0, 255, 1, 1, 3)
    lighter = np.where(ground.mean(-1, keepdims=True) > 127, -1, 1)
    colour = ground + lighter * uniform(60, 150, 1, 1, 1) + uniform(-40, 40, 1, 1, 3)
    ramp = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
    light = ramp * uniform(-30, 30, 1, 1, 3) + ramp[:, None] * uniform(-30, 30, 1, 1, 3)
    noise = 14 * rng.standard_normal((n, 32, 32, 3), dtype=np.float32)
    return (np.where(figure, colour, ground) + light + noise).clip(0, 255).astype(np.uint8)
