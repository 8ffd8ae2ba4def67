# SPDX-License-Identifier: Apache-2.0
"""``hvd.elastic`` for Keras (``horovod.common.elastic`` says how jobs go on)."""
import keras

from horovod._keras import package as _package

globals().update(_package.elastic(keras, __name__))
