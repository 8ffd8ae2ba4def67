# SPDX-License-Identifier: Apache-2.0
"""Where tensors are reduced: in host memory, or in the memory of their GPU, without a wait for it.

The GPU of the rank's local number is used so, from 0 again where there are fewer. Tensors of other
ones go through host memory.
"""
import torch

from horovod.common.operations import HOST


class GpuStream:
    """As Host: the GPU of some tensors, and the CUDA stream in which they are computed as they are submitted.

    The operation comes after the work that is in the stream by then, and before work that the caller
    adds after its wait for the operation. ``place``: both, as LibraryQueue.submit_allreduce() takes them.
    """

    def __init__(self, device):
        self._device = device
        self._stream = torch.cuda.current_stream(device)
        self.place = (device.index, self._stream.cuda_stream)

    def join(self, tensors):
        """Makes work in the current stream from here on come after the results, too.

        tensors: those with the results; their memory is not reused before that work is done.
        """
        current = torch.cuda.current_stream(self._device)
        if current != self._stream:
            current.wait_stream(self._stream)
            for tensor in tensors:
                tensor.record_stream(current)


def where(queue, tensors):
    """Host or GpuStream: where a queue's operation on these tensors is done."""
    device = tensors[0].device
    if device.type != "cuda" or any(tensor.device != device for tensor in tensors):
        return HOST
    taken = queue.takes_gpu(device.index, torch.cuda.device_count())
    return GpuStream(device) if taken else HOST
