# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16 of Keras on JAX, which compiles what they say."""


class NoneCompressor(object):
    """Leaves gradients as they are."""


class FP16Compressor(object):
    """Rounds gradients to half precision, half the bytes to send."""


class Compression(object):
    """The choices for ``compression=``."""

    none = NoneCompressor
    fp16 = FP16Compressor
