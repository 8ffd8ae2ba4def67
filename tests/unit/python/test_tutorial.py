# SPDX-License-Identifier: Apache-2.0
"""The tutorial's script: its data, its arguments, its files. Its accuracy is the quick start's."""
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import torch

TUTORIAL = os.path.join(os.environ["BATCHAI_SOURCE_DIR"], "contrib/examples/tutorial")
SCRIPT = os.path.join(TUTORIAL, "cifar_cnn_distributed.py")
MODEL = "saved_models/keras_cifar10_trained_model.h5"

sys.path.insert(0, TUTORIAL)
import cifar_images  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], timeout=200, capture_output=True,
                          text=True)


def write_batches(folder, images=20):
    """A small CIFAR-10 in the format in which it is distributed."""
    rng = np.random.default_rng(0)
    for name in ["data_batch_%d" % number for number in range(1, 6)] + ["test_batch"]:
        with open(os.path.join(folder, name), "wb") as file:
            pickle.dump({b"data": rng.integers(0, 256, (images, 3072), dtype=np.uint8),
                         b"labels": [i % 10 for i in range(images)]}, file)


class GeneratedData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.train, cls.test = cifar_images.generate()

    def test_it_has_cifars_shape_and_all_classes_in_like_numbers(self):
        for (images, labels), count in ((self.train, 6000), (self.test, 1500)):
            self.assertEqual(images.shape, (count, 32, 32, 3))
            self.assertEqual((images.dtype, labels.dtype.kind), (np.uint8, "i"))
            self.assertGreater(np.bincount(labels, minlength=10).min(), count / 10 * 0.8)

    def test_it_is_the_same_each_time(self):
        one, other = cifar_images.generate(60, 20), cifar_images.generate(60, 20)
        for (images, labels), (images2, labels2) in zip(one, other):
            self.assertTrue((images == images2).all() and (labels == labels2).all())

    def test_no_linear_classifier_reaches_one_half(self):
        def rows(images):
            return torch.from_numpy(images.reshape(len(images), -1)).float().div_(255).sub_(0.5)

        torch.manual_seed(0)
        pixels, truth = rows(self.train[0]), torch.from_numpy(self.train[1])
        test_pixels, test_truth = rows(self.test[0]), torch.from_numpy(self.test[1])
        linear = torch.nn.Linear(3072, 10)
        optimizer = torch.optim.SGD(linear.parameters(), lr=0.02, momentum=0.9)
        best = 0.0
        for _ in range(15):
            for batch in torch.randperm(len(truth)).split(64):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(linear(pixels[batch]), truth[batch]).backward()
                optimizer.step()
            accuracy = (linear(test_pixels).argmax(1) == test_truth).float().mean().item()
            best = max(best, accuracy)
        self.assertLess(best, 0.5)


class Script(unittest.TestCase):
    def test_it_trains_on_cifars_batches_and_saves_the_model(self):
        with tempfile.TemporaryDirectory() as folder:
            write_batches(folder)
            result = run("--dir", folder, "--data", folder, "--epochs", "1")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            lines = result.stdout.splitlines()
            self.assertEqual(lines[:3], ["x_train shape: (100, 32, 32, 3)", "100 train samples",
                                         "20 test samples"])
            self.assertRegex(lines[3], r"^Epoch 1/1 - rank 0 of 1 - \d+s - loss: .* - acc: 0\.\d+$")
            self.assertEqual(lines[4], "Saved trained model at %s" % os.path.join(folder, MODEL))
            self.assertRegex(lines[5], r"^Test loss: \d+\.\d+$")
            self.assertRegex(lines[6], r"^Test accuracy: \d\.\d+$")
            with h5py.File(os.path.join(folder, MODEL)) as file:
                self.assertEqual(file["model_weights/0/weight"].shape, (32, 3, 3, 3))
            self.assertEqual(os.listdir(os.path.join(folder, "saved_models")),
                             [os.path.basename(MODEL)])

    def test_bad_data_is_one_clear_line_and_a_nonzero_exit(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "data_batch_1"), "w") as file:
                file.write("not a pickle")
            for data in ("/nowhere", folder):
                result = run("--dir", folder, "--data", data)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, "^cifar_cnn_distributed.py: [^\n]*%s[^\n]*\n$" % data)

    def test_a_folder_that_cannot_be_written_is_found_before_the_training(self):
        result = run("--dir", "/proc/nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "^cifar_cnn_distributed.py: [^\n]*/proc/nowhere[^\n]*\n$")

    def test_bad_arguments_are_refused(self):
        for arguments in (("--epochs", "0"), ("--epochs", "x"), ("--batch-size", "-1"), ("--what",)):
            self.assertEqual(run(*arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main()
