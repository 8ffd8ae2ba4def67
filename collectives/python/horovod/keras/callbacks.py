# SPDX-License-Identifier: Apache-2.0
"""Horovod's callbacks for Keras (horovod/_keras/callbacks.py says what they do)."""
import keras

from horovod._keras import package as _package

globals().update(_package.callbacks(keras, __name__))
