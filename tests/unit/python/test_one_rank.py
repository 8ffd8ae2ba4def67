# SPDX-License-Identifier: Apache-2.0
"""A script without a launcher is a job of one rank."""
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import horovod
import horovod.torch as hvd
import torch


class OneRank(unittest.TestCase):
    def setUp(self):
        hvd.init()

    def tearDown(self):
        hvd.shutdown()

    def test_the_rank_is_0_of_1(self):
        self.assertEqual((hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(),
                          hvd.cross_rank(), hvd.cross_size()), (0, 1, 0, 1, 0, 1))

    def test_everything_is_its_own_result(self):
        tensor = torch.arange(6.0).reshape(2, 3)
        for result in (hvd.allreduce(tensor), hvd.allreduce(tensor, op=hvd.Sum),
                       hvd.allgather(tensor), hvd.broadcast(tensor, 0)):
            self.assertTrue(torch.equal(result, tensor))
            self.assertNotEqual(result.data_ptr(), tensor.data_ptr())
        self.assertIs(hvd.allreduce_(tensor), tensor)
        self.assertEqual(hvd.broadcast_object({"a": 1}), {"a": 1})
        self.assertEqual(hvd.allgather_object([2]), [[2]])
        hvd.barrier()

    def test_init_twice_is_init_once_and_shutdown_allows_another(self):
        hvd.init()
        self.assertTrue(hvd.is_initialized())
        hvd.shutdown()
        hvd.shutdown()
        self.assertFalse(hvd.is_initialized())
        with self.assertRaisesRegex(ValueError, "hvd.init"):
            hvd.allreduce(torch.zeros(1))
        hvd.init()
        self.assertEqual(hvd.allreduce(torch.ones(1)).item(), 1)

    def test_wrong_arguments_are_value_errors(self):
        one = torch.ones(1)
        with self.assertRaisesRegex(ValueError, "op parameter supersedes average"):
            hvd.allreduce(one, average=True, op=hvd.Sum)
        with self.assertRaisesRegex(ValueError, "unknown reduction"):
            hvd.allreduce(one, op=17)
        with self.assertRaisesRegex(ValueError, "from rank 1, which is not one of the 1 ranks"):
            hvd.broadcast(one, 1)
        with self.assertRaisesRegex(ValueError, "scalar"):
            hvd.allgather(torch.tensor(1))
        with self.assertRaisesRegex(ValueError, "booleans have no average"):
            hvd.allreduce(torch.tensor([True]))
        hvd.shutdown()
        with self.assertRaisesRegex(ValueError, "comm: ranks .1. are not in a job of 1 ranks"):
            hvd.init(comm=[1])
        hvd.init(comm=[0])
        with self.assertRaisesRegex(ValueError, "invalid params"):
            hvd.broadcast_parameters(17, 0)

    def test_average_is_deprecated(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hvd.allreduce(torch.ones(1), average=False)
        self.assertEqual([w.category for w in caught], [DeprecationWarning])

    def test_it_does_not_claim_transports_that_it_has_not(self):
        self.assertFalse(hvd.mpi_built() or hvd.mpi_enabled() or hvd.mpi_threads_supported()
                         or hvd.nccl_built() or hvd.cuda_built())
        self.assertTrue(horovod.__version__.startswith("0.28."))


class Optimizer(unittest.TestCase):
    def setUp(self):
        hvd.init()
        self.model = torch.nn.Linear(3, 2)
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def test_it_is_a_subclass_that_shares_parameters_and_options(self):
        distributed = hvd.DistributedOptimizer(self.sgd, self.model.named_parameters())
        self.assertIsInstance(distributed, torch.optim.SGD)
        self.assertEqual(type(distributed).__name__, "SGD")
        self.assertIs(distributed.param_groups[0], self.sgd.param_groups[0])

    def test_a_schedule_of_the_wrapped_optimizer_does_not_take_over_step(self):
        schedule = torch.optim.lr_scheduler.ExponentialLR(self.sgd, 0.5)
        distributed = hvd.DistributedOptimizer(self.sgd)
        distributed.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
        self.assertAlmostEqual(distributed.param_groups[0]["lr"], 0.05)

    def test_named_parameters_are_checked(self):
        named = list(self.model.named_parameters())
        for wrong, words in ((named[:1], "not named"), ([p for _, p in named], "tuples"),
                             ([("a", p) for _, p in named], "duplicates: a")):
            with self.assertRaisesRegex(ValueError, words):
                hvd.DistributedOptimizer(self.sgd, wrong)

    def test_wrong_arguments_are_value_errors(self):
        for arguments in ({"op": hvd.Max}, {"op": hvd.Sum, "gradient_predivide_factor": 2.0},
                          {"backward_passes_per_step": 0}):
            with self.assertRaises(ValueError):
                hvd.DistributedOptimizer(self.sgd, **arguments)

    def test_step_after_synchronize_warns_unless_it_is_to_skip(self):
        distributed = hvd.DistributedOptimizer(self.sgd)
        distributed.synchronize()
        with self.assertWarnsRegex(UserWarning, "skip_synchronize"):
            distributed.step()
        distributed.synchronize()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with distributed.skip_synchronize():
                distributed.step()


class Ending(unittest.TestCase):
    """How a process ends is how the script ended, with or without shutdown()."""

    def run_script(self, *lines):
        text = "\n".join(("import os, sys, horovod.torch as hvd", "hvd.init()") + lines)
        return subprocess.run([sys.executable, "-c", text], timeout=60, capture_output=True,
                              text=True)

    def test_the_exit_code_is_the_scripts(self):
        self.assertEqual(self.run_script("pass").returncode, 0)
        self.assertEqual(self.run_script("sys.exit(0)").returncode, 0)
        self.assertEqual(self.run_script("sys.exit(3)").returncode, 3)
        self.assertEqual(self.run_script("raise ValueError('x')").returncode, 1)

    def test_a_forked_child_does_not_shut_the_parent_down(self):
        result = self.run_script("child = os.fork()", "if child == 0: sys.exit(0)",
                                 "os.waitpid(child, 0)",
                                 "print(hvd.allgather_object('alive'))")
        self.assertEqual((result.returncode, result.stdout.strip()), (0, "['alive']"))

    def test_a_forked_child_does_not_take_part_beside_its_parent(self):
        result = self.run_script("import torch", "child = os.fork()",
                                 "if child == 0: hvd.init(); hvd.allreduce(torch.ones(1))",
                                 "sys.exit(os.waitpid(child, 0)[1] >> 8)")
        self.assertEqual(result.returncode, 1)
        self.assertIn("this process was forked from a rank of the job after init", result.stderr)

    def test_processes_of_torchrun_are_not_a_job_each(self):
        text = "import horovod.torch as hvd; hvd.init(); print(hvd.size())"
        for variables in {"RANK": "1", "WORLD_SIZE": "2"}, {"RANK": "1"}, {"WORLD_SIZE": "2"}:
            environment = dict(os.environ, TORCHELASTIC_RUN_ID="none", **variables)
            result = subprocess.run([sys.executable, "-c", text], timeout=60, capture_output=True,
                                    text=True, env=environment)
            if len(variables) == 2:
                self.assertIn("HorovodInternalError: collectives: init: torchrun made this process "
                              "1 of 2; without batchai-launch it is rank 0 of 1", result.stderr)
            else:
                self.assertEqual((result.stdout, result.stderr), ("1\n", ""))

    def test_a_missing_library_is_one_clear_sentence(self):
        script = ("import horovod.torch as hvd\ntry: hvd.init()\n"
                  "except hvd.HorovodInternalError as error: print(error)")
        result = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True,
                                text=True, env={"BATCHAI_COLLECTIVES_LIBRARY": "/nowhere.so",
                                                "PYTHONPATH": ":".join(sys.path)})
        self.assertIn("horovod: /nowhere.so cannot be loaded", result.stdout)
        self.assertIn("set BATCHAI_COLLECTIVES_LIBRARY", result.stdout)

    def test_a_library_for_a_newer_system_is_no_loaders_riddle(self):
        script = ("from horovod.common.library import load\ntry: load()\n"
                  "except Exception as error: print(error)")
        with tempfile.NamedTemporaryFile(suffix=".so") as library:
            library.write(b"\x7fELF\0GLIBC_2.3.4\0GLIBC_2.99\0GLIBC_2.34\0")
            library.flush()
            result = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True,
                                    text=True, env={"BATCHAI_COLLECTIVES_LIBRARY": library.name,
                                                    "PYTHONPATH": ":".join(sys.path)})
        self.assertRegex(result.stdout, r"^horovod: %s cannot be loaded: it needs glibc 2\.99, "
                         r"this is 2\.\d+: install batchai's wheel" % library.name)


if __name__ == "__main__":
    unittest.main()
