# SPDX-License-Identifier: Apache-2.0
"""The common parts of horovod.keras and horovod.tensorflow.keras, for Keras 2.1 to 3.

TensorFlow and PyTorch are imported where Keras' backend is that one.
"""
