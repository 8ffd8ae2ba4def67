# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16: conversions of gradients before they are reduced."""
import tensorflow as tf

from horovod.common.compression import Compressor, HalfCompressor, NoneCompressor


class FP16Compressor(HalfCompressor):
    __doc__ = HalfCompressor.__doc__
    _half = tf.float16
    _cast = staticmethod(tf.cast)

    @staticmethod
    def _is_floating(dtype):
        return dtype.is_floating


class Compression(object):
    """The choices for ``compression=``."""

    none = NoneCompressor
    fp16 = FP16Compressor
