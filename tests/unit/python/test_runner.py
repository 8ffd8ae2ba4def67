# SPDX-License-Identifier: Apache-2.0
"""horovod.runner: which ranks go where; threads; which Horovod is imported. Loaders of data."""
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import horovod
from horovod.data import AsyncDataLoaderMixin, BaseDataLoader
from horovod.runner.common.util.env import get_env_rank_and_size
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
        with self.assertRaisesRegex(ValueError, "run: min_num_proc, ssh_port, use_mpi: not supported"):
            horovod.run(place, (1, 2), np=1, use_mpi=True, ssh_port=22, min_num_proc=1)
        for words, arguments in (("use one of them", {"hosts": "localhost:1", "hostfile": "hosts"}),
                                 ("eth0,eth1: more than one", {"network_interface": "eth0,eth1"})):
            with self.assertRaisesRegex(ValueError, words):
                horovod.run(place, (1, 2), np=1, **arguments)

    def test_harmless_arguments_are_taken_and_hosts_may_be_in_a_file(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# this machine\nlocalhost slots=2\n")
            file.flush()
            self.assertEqual(horovod.run(place, (10, 0), hostfile=file.name, verbose=2, use_gloo=True,
                                         disable_cache=True, start_timeout=60), [(0, 2), (10, 2)])


class Data(unittest.TestCase):
    class Loader(BaseDataLoader):
        def __len__(self):
            return 5

        def _iterate(self):
            for number in range(len(self)):
                yield number
                if number == self.fails_at:
                    raise OSError("no more data")

        def _process_batch(self, batch):
            return 10 * batch

        fails_at = None

    class Ahead(AsyncDataLoaderMixin, Loader):
        pass

    def test_batches_come_in_order_with_and_without_a_thread(self):
        for loader in self.Loader(), self.Ahead(0), self.Ahead(2), self.Ahead():
            for _ in range(2):
                self.assertEqual(list(loader), [0, 10, 20, 30, 40])

    def test_an_error_of_the_reader_is_the_trainings_and_an_end_is_the_threads(self):
        loader = self.Ahead(1)
        before = threading.active_count()
        for _ in loader:
            loader.close_async_loader()
        for _ in loader:
            break
        iterator = iter(loader)
        next(iterator)
        alive = threading.active_count()
        loader.close_async_loader()
        self.assertLess(threading.active_count(), alive)  # it is joined
        loader.fails_at = 3
        with self.assertRaisesRegex(OSError, "no more data"):
            list(loader)
        with mock.patch.object(loader, "_iterate", side_effect=SystemExit(3)):
            self.assertRaises(SystemExit, list, loader)
        for _ in range(100):
            if threading.active_count() <= before:
                return
            time.sleep(0.1)
        self.fail("a thread goes on")

    def test_what_does_not_exist_says_what_does(self):
        for name, words in (("spark", "horovod.run"), ("ray.runner", "horovod.run"), ("mxnet", "horovod.torch"),
                            ("spark.keras", "batchai-launch")):
            with self.assertRaisesRegex(ImportError, words):
                importlib.import_module("horovod." + name)

    def test_the_environment_tells_the_rank(self):
        for variables, expected in (({}, (0, 1)), ({"PMI_RANK": "2", "PMI_SIZE": "3"}, (2, 3)),
                                    ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "PMI_RANK": "0"}, (1, 2))):
            with mock.patch.dict(os.environ, variables, clear=True):
                self.assertEqual(get_env_rank_and_size(), expected)
        with mock.patch.dict(os.environ, {"HOROVOD_RANK": "1"}, clear=True):
            self.assertRaises(RuntimeError, get_env_rank_and_size)


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
