# SPDX-License-Identifier: Apache-2.0
"""Runs the named test modules of this folder; exit code 77 where PyTorch or h5py is missing.

Under a launcher every rank runs it; a rank other than 0 speaks only when a test fails.
"""
import os
import sys
import unittest

try:
    import h5py  # noqa: F401
    import torch
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
torch.set_num_threads(1)
rank = int(os.environ.get("PMIX_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
result = unittest.TextTestRunner(verbosity=2 if rank == 0 else 0, buffer=False).run(suite)
sys.exit(0 if result.wasSuccessful() else 1)
