# SPDX-License-Identifier: Apache-2.0
"""Collective operations on NumPy arrays, for frameworks whose tensors share memory with them."""
import numpy

from horovod.common.operations import Operations


class Arrays(Operations):
    """Operations on arrays of any type, in host memory."""

    int32, float64 = numpy.dtype("int32"), numpy.dtype("float64")

    def kind(self, tensor):
        return tensor.dtype.name

    def buffer(self, tensor, stay=False):
        return numpy.ascontiguousarray(tensor).reshape(tensor.shape)  # which makes a scalar a vector

    def empty(self, buffer, shape):
        return numpy.empty(shape, buffer.dtype)

    def address(self, tensor):
        return tensor.ctypes.data

    def count(self, buffer):
        return buffer.size

    def item_bytes(self, buffer):
        return buffer.itemsize

    def cast(self, tensor, dtype):
        return tensor.astype(dtype, copy=False)

    def result(self, buffer, tensor):
        return buffer.astype(tensor.dtype, copy=False)

    def numbers(self, values, dtype, beside):
        return numpy.array(values, dtype)

    def vector(self, tensor):
        return tensor.astype("float64").reshape(-1)

    def of_vector(self, vector, tensor):
        return vector.reshape(tensor.shape).astype(tensor.dtype)


operations = Arrays()


def wait(operation):
    """The operation's list of arrays. HorovodInternalError where ranks disagree or one is gone."""
    return operation.queue.wait(operation)
