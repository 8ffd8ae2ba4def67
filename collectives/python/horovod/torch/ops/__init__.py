# SPDX-License-Identifier: Apache-2.0
"""The operations, a verb a file; scripts import them from horovod.torch or horovod.torch.mpi_ops."""
