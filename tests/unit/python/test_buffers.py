# SPDX-License-Identifier: Apache-2.0
"""Conversions and the small helpers: no library, no ranks."""
import os
import pathlib
import re
import unittest
from unittest import mock

import torch

from horovod.common import library
from horovod.common.util import environment_size, queue_options
from horovod.torch import Compression
from horovod.torch.tensors import operations


class Buffers(unittest.TestCase):
    def test_what_the_library_reduces_is_not_copied(self):
        for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8,
                     torch.int8, torch.int32, torch.int64, torch.bool):
            tensor = torch.zeros(4, dtype=kind)
            self.assertEqual(operations.for_reduction(tensor).data_ptr(), tensor.data_ptr())

    def test_the_library_scales_floats(self):
        for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            tensor = torch.ones(4, dtype=kind)
            buffer = operations.for_reduction(tensor, library.AVERAGE, (0.5, 3.0))
            self.assertEqual(buffer.data_ptr(), tensor.data_ptr())
            self.assertEqual(operations.library_factors(buffer, (0.5, 3.0)), (0.5, 3.0))
        self.assertEqual(operations.library_factors(torch.ones(1).int(), (0.5, 3.0)), (1.0, 1.0))

    def test_small_integers_are_averaged_and_scaled_as_larger_ones(self):
        for kind in (torch.uint8, torch.int8, torch.int16):
            tensor = torch.full((4,), 100).to(kind)
            self.assertEqual(operations.for_reduction(tensor, library.AVERAGE).dtype, torch.int32)
            scaled = operations.for_reduction(tensor, library.SUM, (3.0, 1.0))
            self.assertEqual((scaled.dtype, scaled.tolist()), (torch.int32, [300] * 4))
        self.assertEqual(operations.for_reduction(torch.ones(4).short()).dtype, torch.int32)

    def test_a_transposed_tensor_is_copied_and_copied_back(self):
        tensor = torch.arange(6.0).reshape(2, 3).t()
        buffer = operations.for_reduction(tensor)
        self.assertTrue(buffer.is_contiguous())
        operations.put(buffer * 2, tensor)
        self.assertEqual(tensor.t().flatten().tolist(), [0, 2, 4, 6, 8, 10])

    def test_integers_are_scaled_exactly_and_truncated(self):
        tensor = torch.tensor([7, -7, 1 << 40])
        self.assertEqual(operations.scaled(tensor, 0.5).tolist(), [3, -3, 1 << 39])

    def test_complex_and_sparse_tensors_are_refused(self):
        with self.assertRaisesRegex(ValueError, "complex64"):
            operations.check([torch.zeros(1, dtype=torch.complex64)], library.MAX)
        with self.assertRaisesRegex(ValueError, "to_dense"):
            operations.check([torch.zeros(2, 2).to_sparse()], library.SUM)
        with self.assertRaisesRegex(ValueError, "expected a torch.Tensor, got list"):
            operations.check([[1.0]], library.SUM)


class Layers(unittest.TestCase):
    def test_imports_go_from_keras_to_frameworks_to_common_and_never_back(self):
        layers = {"common": 0, "torch": 1, "tensorflow": 1, "_keras": 2, "keras": 3, "tensorflow.keras": 3}

        def layer(module):
            parts = module.split(".")[1:]
            return layers.get(".".join(parts[:2]), layers.get(parts[0] if parts else "", 0))

        for path in sorted(pathlib.Path(library.__file__).parents[1].rglob("*.py")):
            module = ".".join(path.relative_to(pathlib.Path(library.__file__).parents[2]).with_suffix("").parts)
            if layer(module) == 0 and ".common" not in module:
                continue  # horovod itself and its launcher
            for imported in re.findall(r"^ *(?:from|import) (horovod[.\w]*)", path.read_text(encoding="utf-8"), re.M):
                self.assertLessEqual(layer(imported), layer(module), "%s imports %s" % (module, imported))


class Helpers(unittest.TestCase):
    def test_a_threshold_that_is_no_number_is_named(self):
        with mock.patch.dict(os.environ, {"HOROVOD_FUSION_THRESHOLD": "64MB"}):
            with self.assertRaisesRegex(ValueError, "HOROVOD_FUSION_THRESHOLD: '64MB'"):
                environment_size("HOROVOD_FUSION_THRESHOLD", 1)
        with mock.patch.dict(os.environ, {"HOROVOD_FUSION_THRESHOLD": "0"}):
            self.assertEqual(environment_size("HOROVOD_FUSION_THRESHOLD", 1), 0)
        self.assertEqual(environment_size("HOROVOD_NOT_SET", 5), 5)

    def test_what_horovods_variables_say_about_the_queue(self):
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual(queue_options(), {})
        said = {"HOROVOD_FUSION_THRESHOLD": "5", "HOROVOD_CYCLE_TIME": "2.5",
                "HOROVOD_CACHE_CAPACITY": "0", "HOROVOD_AUTOTUNE": "1",
                "HOROVOD_STALL_CHECK_TIME_SECONDS": "7"}
        with mock.patch.dict(os.environ, said, clear=True):
            self.assertEqual(queue_options(), {"fusion_bytes": 5, "cycle": 0.0025, "autotune": 0,
                                               "cache_capacity": 1, "stall_warning": 7})
        for fixed, tuned in (({"HOROVOD_FUSION_THRESHOLD": "5"}, 2),
                             ({"HOROVOD_CYCLE_TIME": "5"}, 1), ({}, 3)):
            with mock.patch.dict(os.environ, {"HOROVOD_AUTOTUNE": "1", **fixed}, clear=True):
                self.assertEqual(queue_options()["autotune"], tuned)
        with mock.patch.dict(os.environ, {"HOROVOD_STALL_CHECK_DISABLE": "1"}, clear=True):
            self.assertEqual(queue_options()["stall_warning"], 0)
        for wrong in ("-1", "nan", "soon"):
            with mock.patch.dict(os.environ, {"HOROVOD_CYCLE_TIME": wrong}):
                self.assertRaisesRegex(ValueError, "HOROVOD_CYCLE_TIME", queue_options)
        for name in ("FUSION_THRESHOLD", "CYCLE_TIME", "CACHE_CAPACITY", "STALL_CHECK_TIME_SECONDS"):
            with mock.patch.dict(os.environ, {"HOROVOD_" + name: "9" * 30}, clear=True):
                self.assertRaisesRegex(ValueError, name + ".* is more than", queue_options)

    def test_compression_gives_the_type_back(self):
        for compression in (Compression.none, Compression.fp16):
            for kind in (torch.float32, torch.float64, torch.int64):
                tensor = torch.ones(3, dtype=kind)
                small, context = compression.compress(tensor)
                self.assertEqual(compression.decompress(small, context).dtype, kind)
        self.assertEqual(Compression.fp16.compress(torch.ones(1))[0].dtype, torch.float16)


if __name__ == "__main__":
    unittest.main()
