# SPDX-License-Identifier: Apache-2.0
"""``import horovod.tensorflow.keras as hvd``: Horovod for tf.keras over libbatchai_collectives (horovod/_keras/package.py lists it)."""
from tensorflow import keras

from horovod._keras import package as _package
from horovod.tensorflow.keras import callbacks, elastic

globals().update(_package.names(keras))
