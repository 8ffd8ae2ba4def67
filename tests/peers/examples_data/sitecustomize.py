# SPDX-License-Identifier: Apache-2.0
"""For horovod_examples: MNIST's data made here, and trainings of a few steps; the examples themselves stay as they are.

With BATCHAI_EXAMPLE_DIES in the environment rank 1 is killed once, after some commits of its elastic state.
"""
import functools
import importlib.machinery
import os
import signal
import sys

STEPS = 20
COMMITS = 3


def load_data(path=None):
    """What keras.datasets.mnist.load_data() returns, in small: images that show their label by where they are light."""
    import numpy as np
    numbers = np.random.RandomState(0)
    parts = []
    for count in (512, 128):
        labels = numbers.randint(0, 10, count).astype("uint8")
        images = numbers.randint(0, 100, (count, 28, 28))
        for image, label in zip(images, labels):
            image[2 * label:2 * label + 8] += 150
        parts.append((images.astype("uint8"), labels))
    return tuple(parts)


def with_sets(module):
    """As TensorFlow 1 had MNIST's data in tf.contrib.learn."""
    def read_data_sets(*args, **kwargs):
        (images, labels), (test_images, test_labels) = load_data()
        train, test = (module.DataSet(part[..., None], numbers, reshape=True)
                       for part, numbers in ((images, labels), (test_images, test_labels)))
        return module.base.Datasets(train=train, validation=test, test=test)
    module.read_data_sets = read_data_sets


def at_most(owner, method, **limits):
    """Bounds the method's arguments of these names. That of place 1 may be without its name."""
    function = getattr(owner, method)

    @functools.wraps(function)
    def bounded(self, *args, **kwargs):
        for name, limit in limits.items():
            if name in kwargs:
                kwargs[name] = min(kwargs[name], limit)
            elif name == "count" and args:
                args = (min(args[0], limit),) + args[1:]
        return function(self, *args, **kwargs)
    setattr(owner, method, bounded)


def with_data(module):
    module.load_data = load_data


def with_short_fit(module):
    at_most(module.Model, "fit", steps_per_epoch=STEPS, epochs=2)


def with_short_take(module):
    at_most(getattr(module, "DatasetV2", module.Dataset), "take", count=STEPS)


def with_death(module):
    if not os.environ.get("BATCHAI_EXAMPLE_DIES") or os.environ.get("TORCHELASTIC_RESTART_COUNT") != "0":
        return
    commit, done = module.State.commit, []

    def last_commit(state):
        commit(state)
        done.append(None)
        if os.environ["RANK"] == "1" and len(done) == COMMITS:
            os.kill(os.getpid(), signal.SIGKILL)
    module.State.commit = last_commit


WHEN_LOADED = {
    "horovod.common.elastic": with_death,
    "keras.datasets.mnist": with_data,
    "tensorflow.contrib.learn.python.learn.datasets.mnist": with_sets,
    "keras.src.datasets.mnist": with_data,
    "tf_keras.src.datasets.mnist": with_data,
    "tensorflow.python.keras._impl.keras.datasets.mnist": with_data,
    "keras.src.engine.training": with_short_fit,
    "tf_keras.src.engine.training": with_short_fit,
    "tensorflow.python.data.ops.dataset_ops": with_short_take,
    "tensorflow.python.training.basic_session_run_hooks":
        lambda module: at_most(module.StopAtStepHook, "__init__", last_step=STEPS),
    "tensorflow.python.estimator.estimator": lambda module: at_most(module.Estimator, "train", steps=STEPS),
}


class Finder(object):
    """Runs a module as its loader does, and then what WHEN_LOADED has for it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in WHEN_LOADED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            WHEN_LOADED[name](module)
        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder)
