# SPDX-License-Identifier: Apache-2.0
"""Compression.none and Compression.fp16: conversions of gradients before they are reduced."""
import torch

from horovod.common.compression import Compressor, NoneCompressor, compression_for  # noqa: F401

Compression = compression_for(__name__, torch.float16, lambda dtype: dtype.is_floating_point,
                              torch.Tensor.to)
FP16Compressor = Compression.fp16
FP16Compressor = Compression.fp16
