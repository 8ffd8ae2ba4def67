# SPDX-License-Identifier: Apache-2.0
"""Conversions of gradients before they are reduced, for any framework: classes for ``compression=``."""


class Compressor(object):
    """Two functions that belong together."""

    @staticmethod
    def compress(tensor):
        """Returns the data to send, and the context for decompress()."""
        raise NotImplementedError()

    @staticmethod
    def decompress(tensor, ctx):
        """The reverse, of the reduced tensor."""
        raise NotImplementedError()


class NoneCompressor(Compressor):
    """Leaves tensors as they are."""

    @staticmethod
    def compress(tensor):
        """Returns the tensor and None."""
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        """Returns the tensor."""
        return tensor


class HalfCompressor(Compressor):
    """Rounds floating-point tensors to half precision, half the bytes to send.

    The library adds up 32 bits and rounds the sum, so it must not exceed half precision's 65504.
    """

    half = is_floating = cast = None  # see compression_for()

    @classmethod
    def compress(cls, tensor):
        """Returns the tensor as float16, and its type. Only floating-point tensors change."""
        if not cls.is_floating(tensor.dtype):
            return tensor, None
        return cls.cast(tensor, cls.half), tensor.dtype

    @classmethod
    def decompress(cls, tensor, ctx):
        """Returns the tensor in the type that compress() gave as ctx; unchanged if that is None."""
        return tensor if ctx is None else cls.cast(tensor, ctx)


def compression_for(module, half, is_floating, cast):
    """A framework's class Compression.

    module: where its ``fp16`` is also ``FP16Compressor``, for pickle. half: its float16.
    is_floating(type): whether such tensors are rounded. cast(tensor, type).
    """
    rounding = type("FP16Compressor", (HalfCompressor,), {
        "__module__": module, "__doc__": HalfCompressor.__doc__, "half": half, "is_floating": staticmethod(is_floating),
        "cast": staticmethod(cast)})
    return type("Compression", (object,), {"__module__": module,
                                           "__doc__": "The choices for ``compression=``.",
                                           "none": NoneCompressor, "fp16": rounding})


def compressed(compression, tensors, run):
    """The list run(tensors), in which compressed tensors are sent."""
    pairs = [compression.compress(tensor) for tensor in tensors]
    results = run([tensor for tensor, _ in pairs])
    return [compression.decompress(result, context)
            for result, (_, context) in zip(results, pairs)]
