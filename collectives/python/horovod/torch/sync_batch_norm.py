# SPDX-License-Identifier: Apache-2.0
"""SyncBatchNorm: batch normalization over the batches of all ranks."""
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from horovod.common import basics
from horovod.torch.mpi_ops import Sum, allreduce


class SyncBatchNorm(_BatchNorm):
    """Like torch.nn.BatchNorm1d to 3d, with mean and variance of all ranks' inputs in training.

    Inputs are (N, C, ...) on any device. Ranks may differ in all dimensions except C. They call their
    modules in the same order. Without hvd.init(), with one rank and in evaluation it works as torch's.
    """

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError("expected at least 2D input (got %dD input)" % input.dim())

    def forward(self, input):
        """The normalized input, and running statistics as torch's module has them."""
        self._check_input_dim(input)
        of_batch = self.training or self.running_mean is None
        if not of_batch or not basics.is_initialized() or basics.size() == 1:
            return super().forward(input)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        others = [0] + list(range(2, input.dim()))
        shape = [1, -1] + [1] * (input.dim() - 2)
        wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        sums = torch.cat([wide.sum(others), wide.new_tensor([input.numel() // input.shape[1]])])
        sums = allreduce(sums, op=Sum)
        count = sums[-1].detach()
        mean = sums[:-1] / count
        centred = wide - mean.reshape(shape)
        variance = allreduce((centred * centred).sum(others), op=Sum) / count
        if self.training and self.track_running_stats:
            with torch.no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
                unbiased = variance * (count / (count - 1).clamp(min=1))
                self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)
        result = centred * torch.rsqrt(variance + self.eps).reshape(shape)
        if self.affine:
            result = result * self.weight.reshape(shape) + self.bias.reshape(shape)
        return result.to(input.dtype)
