# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16: what a gradient becomes before it is reduced."""
import tensorflow as tf


class Compressor(object):
    """What ``compression=`` takes: two functions that belong together."""

    @staticmethod
    def compress(tensor):
        """Returns what is sent, and what decompress() needs."""
        raise NotImplementedError()

    @staticmethod
    def decompress(tensor, ctx):
        """The reverse, of the reduced tensor."""
        raise NotImplementedError()


class NoneCompressor(Compressor):
    """Leaves tensors as they are."""

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class FP16Compressor(Compressor):
    """Rounds floating-point tensors to half precision, half the bytes to send.

    The library adds up 32 bits and rounds the sum, so it must not exceed half precision's 65504.
    """

    @staticmethod
    def compress(tensor):
        if not tensor.dtype.is_floating:
            return tensor, None
        return tf.cast(tensor, tf.float16), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        return tensor if ctx is None else tf.cast(tensor, ctx)


class Compression(object):
    """The choices for ``compression=``."""

    none = NoneCompressor
    fp16 = FP16Compressor
