# SPDX-License-Identifier: Apache-2.0
"""Horovod's Python interface over libbatchai_collectives.

A training script written for Horovod (``import horovod.torch as hvd``) runs on it unchanged;
docs/horovod.md lists what there is. What does not exist is absent rather than imitated.
"""

# The Horovod release whose interface this is, and whose it is.
__version__ = "0.28.1+batchai"
