# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16 of Keras on JAX."""
from horovod.common.compression import HalfCompressor, NoneCompressor


class FP16Compressor(HalfCompressor):
    __doc__ = HalfCompressor.__doc__
    _half = "float16"

    @staticmethod
    def _is_floating(dtype):
        return dtype.kind == "f"

    @staticmethod
    def _cast(tensor, dtype):
        return tensor.astype(dtype)


class Compression(object):
    """The choices for ``compression=``."""

    none = NoneCompressor
    fp16 = FP16Compressor
