# SPDX-License-Identifier: Apache-2.0
"""Which tensors are reduced in the memory of their GPU, and how without a wait for the GPU.

A rank uses one GPU so: that of its local number, modulo the number of GPUs. Tensors of other GPUs go
through host memory.
"""
import torch

from horovod.common.operations import HOST


class GpuStream:
    """A GPU and the CUDA stream in which the tensors are computed; see Host.

    The operation runs after the work that is in the stream when the operation is submitted. Work that
    the caller adds after its wait for the operation runs after the operation. ``place``: both, as
    LibraryQueue.submit_allreduce() takes them.
    """

    def __init__(self, device):
        self._device = device
        self._stream = torch.cuda.current_stream(device)
        self.place = (device.index, self._stream.cuda_stream)

    def join(self, tensors):
        """Lets later work in the current stream wait for the results, too.

        tensors: they hold the results. Their memory is not reused before that work is done.
        """
        current = torch.cuda.current_stream(self._device)
        if current != self._stream:
            current.wait_stream(self._stream)
            for tensor in tensors:
                tensor.record_stream(current)


def where(queue, tensors):
    """The memory in which a queue reduces these tensors: HOST or a GpuStream."""
    device = tensors[0].device
    if device.type != "cuda" or any(tensor.device != device for tensor in tensors):
        return HOST
    taken = queue.takes_gpu(device.index, torch.cuda.device_count())
    return GpuStream(device) if taken else HOST
