# SPDX-License-Identifier: Apache-2.0
"""Jobs of which a rank fails, under mpirun: the job ends, with an error, and says why."""
import shutil
import subprocess
import sys
import unittest

PROLOGUE = "import os, sys, torch, horovod.torch as hvd\nhvd.init()\n"


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class Failure(unittest.TestCase):
    def run_job(self, script, ranks=3):
        return subprocess.run(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
             str(ranks), sys.executable, "-c", PROLOGUE + script],
            timeout=100, capture_output=True, text=True)

    def test_an_exception_on_one_rank_ends_the_job(self):
        result = self.run_job("if hvd.rank() == 1: raise RuntimeError('rank 1 is unhappy')\n"
                              "hvd.allreduce(torch.ones(1))")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 1 is unhappy", result.stderr)

    def test_an_exit_code_of_one_rank_ends_the_job(self):
        result = self.run_job("if hvd.rank() == 1: sys.exit(5)\nhvd.allreduce(torch.ones(1))")
        self.assertEqual(result.returncode, 5)

    def test_a_killed_rank_ends_the_job(self):
        result = self.run_job("if hvd.rank() == 1: os.kill(os.getpid(), 9)\n"
                              "hvd.allreduce(torch.ones(1))")
        self.assertNotEqual(result.returncode, 0)

    def test_a_job_without_shutdown_ends_well(self):
        # One write a line: with PYTHONUNBUFFERED print() makes two, between which mpirun puts others'.
        result = self.run_job("total = hvd.allreduce(torch.ones(1), op=hvd.Sum).item()\n"
                              "os.write(1, f'{total}\\n'.encode())")
        self.assertEqual((result.returncode, result.stdout.split()), (0, ["3.0"] * 3))

    def test_ranks_begin_again_after_a_failure_and_nothing_is_left_of_the_job_before(self):
        result = self.run_job(
            "hvd.shutdown()\n"
            "os.environ['BATCHAI_COLL_FAULT'] = 'rank=1,operation=20,do=abort'\n"
            "hvd.init(process_sets=[hvd.ProcessSet([0, 2])])\n"
            "try:\n    while True: hvd.allreduce(torch.ones(1))\n"
            "except hvd.HorovodInternalError: pass\n"
            "try: hvd.shutdown()\n"
            "except hvd.HorovodInternalError: pass\n"
            "del os.environ['BATCHAI_COLL_FAULT']\n"
            "hvd.init()\n"
            "total = hvd.allreduce(torch.ones(1), op=hvd.Sum).item()\n"
            "mapped = sum('batchai-collectives' in line for line in open('/proc/self/maps'))\n"
            "os.write(1, f'{total} {mapped}\\n'.encode())")
        self.assertEqual((result.returncode, result.stdout.splitlines()), (0, ["3.0 1"] * 3),
                         result.stderr)

    def test_ranks_with_different_models_are_an_error_not_a_hang(self):
        result = self.run_job(
            "model = torch.nn.Linear(4, 2 + hvd.rank())\n"
            "optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))\n"
            "model(torch.ones(1, 4)).sum().backward()\noptimizer.step()")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("HorovodInternalError", result.stderr)


if __name__ == "__main__":
    unittest.main()
