# SPDX-License-Identifier: Apache-2.0
"""``hvd.elastic`` for tf.keras (``horovod.common.elastic`` says how jobs go on)."""
from tensorflow import keras

from horovod._keras import package as _package

globals().update(_package.elastic(keras, __name__))
