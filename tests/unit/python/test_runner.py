# SPDX-License-Identifier: Apache-2.0
"""horovod.runner: which ranks go where; threads; which Horovod is imported."""
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import horovod
from horovod.runner.launch import placement
from horovod.runner.util.threads import execute_function_multithreaded, in_thread, on_event


def here(host):
    return host == "here"


class Placement(unittest.TestCase):
    def test_ranks_go_where_horovodrun_puts_them(self):
        for arguments, words in (((4, None, []), "--local 1 -n 4"), ((4, None, ["a"]), "-n 4"),
                                 ((None, "here:3", []), "--local 1 -n 3"),
                                 ((2, "here:3", ["a"]), "--local 1 -n 2"),
                                 ((4, "b:2,a:2", ["a", "b"]), "--ranks-per-node 2"),
                                 ((None, "b,a", ["a", "b"]), "--ranks-per-node 1")):
            self.assertEqual(" ".join(placement(*arguments, here=here)), words)

    def test_what_cannot_be_is_not_ignored(self):
        for arguments, words in (((None, None, []), "-np"), ((5, "here:3", []), "3 slots"),
                                 ((None, "a:x", []), "HOST:SLOTS"), ((2, "a,b", []), "salloc -N 2"),
                                 ((2, "a,b", ["a", "c"]), "not the nodes of the allocation: a,c"),
                                 ((3, "a:1,b:2", ["a", "b"]), "same number of slots")):
            with self.assertRaisesRegex(ValueError, words):
                placement(*arguments, here=here)

    def test_an_option_that_is_not_there_is_an_error(self):
        for words in (["--mpi", "-np", "1", "true"], ["-np", "1"], ["--min-np", "1", "true"]):
            done = subprocess.run([sys.executable, "-m", "horovod.runner.launch", *words],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("horovodrun: error", done.stderr)

    def test_the_build_is_told(self):
        done = subprocess.run([sys.executable, "-m", "horovod.runner.launch", "--check-build"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[X] PyTorch", done.stdout)


class Which(unittest.TestCase):
    def imported(self, choice, compiled):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/horovod/torch")
            with open(folder + "/horovod/__init__.py", "w") as file:
                file.write("__version__ = 'theirs'\n")
            with open(folder + "/horovod/torch/__init__.py", "w") as file:
                file.write("who = 'theirs'\n")
            if compiled:
                open(folder + "/horovod/torch/mpi_lib_v2.cpython-311.so", "w").close()
            environment = dict(os.environ, BATCHAI_HOROVOD=choice)
            environment["PYTHONPATH"] += ":" + folder
            script = ("import horovod, horovod.torch as hvd, subprocess, sys; "
                      "subprocess.check_call([sys.executable, '-c', 'import horovod']); "
                      "print(horovod.__version__, getattr(hvd, 'who', 'ours'))")
            done = subprocess.run([sys.executable, "-c", script], env=environment, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.split(), done.stderr

    def test_one_that_is_installed_is_not_shadowed(self):
        words, said = self.imported("auto", True)
        self.assertEqual(words, ["theirs", "theirs"])
        self.assertEqual(said.count("--horovod=batchai"), 1, said)
        self.assertEqual(self.imported("batchai", True), ([horovod.__version__, "ours"], ""))

    def test_one_that_was_not_compiled_does_not_win_and_is_named_once(self):
        words, said = self.imported("auto", False)
        self.assertEqual(words, [horovod.__version__, "ours"])
        self.assertEqual(said.count("/horovod is not imported: it is not compiled for a framework"), 1, said)

    def test_its_version_is_known(self):
        self.assertEqual(importlib.metadata.version("horovod"), horovod.__version__)


def place(factor, offset):
    import horovod.torch as hvd
    hvd.init()
    return hvd.rank() * factor + offset, hvd.size()


class Run(unittest.TestCase):
    def test_results_are_by_rank(self):
        self.assertEqual(horovod.run(place, (10,), {"offset": 3}, np=2), [(3, 2), (13, 2)])

    def test_a_failure_and_mpi_are_not_passed_over(self):
        with self.assertRaisesRegex(RuntimeError, "exit code 1"):
            horovod.run(place, (1, 2, 3), np=1)
        with self.assertRaisesRegex(ValueError, "use_mpi"):
            horovod.run(place, (1, 2), np=1, use_mpi=True)


class Threads(unittest.TestCase):
    def test_results_are_by_place(self):
        self.assertEqual(execute_function_multithreaded(lambda a, b: a + b, [[1, 2], [3, 4]]),
                         {0: 3, 1: 7})
        self.assertIsNone(execute_function_multithreaded(print, [], block_until_all_done=False))

    def test_an_event_calls_unless_it_is_stopped_before(self):
        for stopped in (False, True):
            event, stop, calls = threading.Event(), threading.Event(), []
            thread = on_event(event, calls.append, (1,), stop, 0.01)
            (stop if stopped else event).set()
            thread.join(20)
            self.assertEqual(calls, [] if stopped else [1])
        with self.assertRaises(ValueError):
            in_thread(print, args=[1])


if __name__ == "__main__":
    unittest.main()
