# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16: what a gradient becomes before it is reduced."""
import torch


class NoneCompressor:
    """Leaves tensors as they are."""

    @staticmethod
    def compress(tensor):
        """Returns the tensor and None."""
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        """Returns the tensor."""
        return tensor


class FP16Compressor:
    """Rounds floating-point tensors to half precision, half the bytes to send.

    The library adds up 32 bits and rounds the sum, so it must not exceed half precision's 65504.
    """

    @staticmethod
    def compress(tensor):
        """Returns the tensor as float16 and its type; other than floating-point tensors as is."""
        if not tensor.dtype.is_floating_point:
            return tensor, None
        return tensor.to(torch.float16), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        """Returns the tensor in the type that compress() gave as ctx; as is where that is None."""
        return tensor if ctx is None else tensor.to(ctx)


class Compression:
    """The choices for ``compression=``."""

    none = NoneCompressor
    fp16 = FP16Compressor
