# SPDX-License-Identifier: Apache-2.0
"""``import horovod.keras as hvd``: Horovod for Keras 2.1 and newer over libbatchai_collectives (horovod/_keras/package.py lists it)."""
import keras

from horovod._keras import package as _package
from horovod.keras import callbacks, elastic

globals().update(_package.names(keras))
