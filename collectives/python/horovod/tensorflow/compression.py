# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16: conversions of gradients before they are reduced."""
import tensorflow as tf

from horovod.common.compression import Compressor, NoneCompressor, compression_for  # noqa: F401

Compression = compression_for(__name__, tf.float16, lambda dtype: dtype.is_floating, tf.cast)
FP16Compressor = Compression.fp16
FP16Compressor = Compression.fp16
