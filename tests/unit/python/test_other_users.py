# SPDX-License-Identifier: Apache-2.0
"""Files that another user has put where a job starts: none is run, read or written."""
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import torch

from horovod.common import basics, library, saving, util
from horovod.common.store import Store

_OTHER = 61001  # no user's number


class Here(unittest.TestCase):
    """Each test runs in a new directory."""

    def setUp(self):
        self.before, self.here = os.getcwd(), tempfile.mkdtemp()
        os.chdir(self.here)
        self.addCleanup(shutil.rmtree, self.here)
        self.addCleanup(os.chdir, self.before)

    def plant(self, name):
        """A module that leaves a file if it is imported."""
        with open(name, "w") as file:
            file.write("open(%r, 'w').close()\n" % os.path.join(self.here, "ran"))

    def nothing_ran(self):
        return not os.path.exists("ran")


class Modules(Here):
    def test_a_framework_is_not_tried_with_modules_of_the_current_directory(self):
        self.plant("argparse.py")
        for path in (sys.path, [""] + sys.path):  # of a program that is run by its name, and by -c
            with mock.patch.object(sys, "path", path):
                self.assertTrue(util._tried("import argparse", True))
        self.assertTrue(self.nothing_ran())

    def test_horovodrun_imports_nothing_from_the_current_directory(self):
        self.plant("argparse.py")
        package = os.path.dirname(os.path.dirname(os.path.abspath(util.__file__)))
        run = os.path.join(os.path.dirname(os.path.dirname(package)), "bin", "horovodrun")
        said = subprocess.check_output([run, "--version"])
        self.assertTrue(said.strip())
        self.assertTrue(self.nothing_ran())

    def test_ranks_of_run_import_from_the_callers_directory_and_not_from_the_current_one(self):
        os.mkdir("code")
        with open("code/functions.py", "w") as file:
            file.write("def answer():\n    return 42\n")
        with open("code/main.py", "w") as file:
            file.write("import functions, horovod.runner\n"
                       "print(horovod.runner.run(functions.answer, np=1))\n")
        self.plant("pickle.py")
        self.plant("cloudpickle.py")
        self.plant("functions.py")
        said = subprocess.check_output([sys.executable, "code/main.py"], universal_newlines=True)
        self.assertEqual(said.strip().splitlines()[-1], "[42]")
        self.assertTrue(self.nothing_ran())


class UcxConfiguration(Here):
    def setUp(self):
        super().setUp()
        with open("ucx.conf", "w") as file:
            file.write("UCX_LOG_FILE=%s\n" % os.path.join(self.here, "log"))

    def load(self, before=""):
        """What an interpreter says that loads the library here."""
        script = ("import os; from horovod.common import library; %s; library.load(); "
                  "print(os.getcwd())" % (before or "pass"))
        environment = {name: value for name, value in os.environ.items() if name != "UCX_LOG_FILE"}
        return subprocess.run([sys.executable, "-c", script], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True).stdout.strip()

    def test_that_of_the_user_is_read(self):
        self.assertEqual(self.load(), os.path.realpath(self.here))
        self.assertTrue(os.path.exists("log"))

    @unittest.skipUnless(os.getuid() == 0, "only root can give files to other users")
    def test_that_of_another_user_is_not_read(self):
        if not library._leave_directory():
            self.skipTest("a thread may not have a current directory of its own here")
        os.chown("ucx.conf", _OTHER, _OTHER)
        self.assertEqual(self.load(), os.path.realpath(self.here))
        self.assertFalse(os.path.exists("log"))

    @unittest.skipUnless(os.getuid() == 0, "only root can give files to other users")
    def test_that_of_another_user_is_refused_where_a_thread_cannot_leave_the_directory(self):
        os.chown("ucx.conf", _OTHER, _OTHER)
        said = self.load("library._leave_directory = lambda: False")
        self.assertRegex(said, "HorovodInternalError: horovod: UCX would read .*/ucx.conf, which "
                               "belongs to another user: remove it, or start in another directory$")
        self.assertFalse(os.path.exists("log"))


class Kept(Here):
    """State that is kept for the next attempt."""

    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.here, "restart")
        os.environ["BATCHAI_RESTART_DIRECTORY"] = self.directory
        self.addCleanup(os.environ.pop, "BATCHAI_RESTART_DIRECTORY")

    def stores(self):
        """Of each: its file, what keeps, what loads."""
        kept, saved = Store("state.pickle"), Store("state.pt", torch.save, torch.load)
        return (("state.pickle", lambda: kept.keep(5), kept.load),
                ("state.pt", lambda: saved.keep(5), saved.load))

    def test_what_is_kept_is_found_and_is_for_its_user_only(self):
        for name, keep, load in self.stores():
            keep()
            self.assertIsNotNone(load())
            self.assertEqual(os.stat(self.directory).st_mode & 0o777, 0o700)
            self.assertEqual(os.stat(os.path.join(self.directory, name)).st_mode & 0o777, 0o600)

    def test_no_link_is_written_through(self):
        os.mkdir(self.directory)
        with open("diary", "w") as file:
            file.write("dear diary")
        for name, keep, load in self.stores():
            partial = os.path.join(self.directory, "%s.%d" % (name, os.getpid()))
            os.symlink(os.path.join(self.here, "diary"), partial)
            keep()
            self.assertIsNotNone(load())
        with open("diary") as file:
            self.assertEqual(file.read(), "dear diary")

    @unittest.skipUnless(os.getuid() == 0, "only root can give files to other users")
    def test_a_file_of_another_user_is_not_read(self):
        os.mkdir(self.directory)
        for name, _, load in self.stores():
            path = os.path.join(self.directory, name)
            with open(path, "wb") as file:
                pickle.dump(5, file)
            os.chown(path, _OTHER, _OTHER)
            with self.assertRaisesRegex(OSError, "belongs to another user: remove it"):
                load()

    @unittest.skipUnless(os.getuid() == 0, "only root can give files to other users")
    def test_no_link_of_another_user_is_followed(self):
        os.mkdir("elsewhere")
        for _, keep, load in self.stores():
            keep()  # fills the directory
        os.rename(self.directory, "elsewhere/kept")
        os.symlink("elsewhere/kept", self.directory)
        for _, keep, load in self.stores():
            keep()
            self.assertIsNotNone(load())
        os.lchown(self.directory, _OTHER, _OTHER)
        for end in ("", "/"):
            os.environ["BATCHAI_RESTART_DIRECTORY"] = self.directory + end
            for _, keep, load in self.stores():
                for use in (keep, load):
                    with self.assertRaisesRegex(OSError, "belongs to another user: remove it"):
                        use()

    @unittest.skipUnless(os.getuid() == 0, "only root can give files to other users")
    def test_no_link_of_another_user_is_followed_above_the_directory(self):
        os.mkdir("home")
        os.symlink("home", "own")
        os.environ["BATCHAI_RESTART_DIRECTORY"] = os.path.join(self.here, "own/../own/a/b")
        for _, keep, load in self.stores():
            keep()  # by the user's own link, as by root's
            self.assertIsNotNone(load())
        os.lchown("own", _OTHER, _OTHER)
        before = sorted(os.listdir("home/a/b"))
        for _, keep, load in self.stores():
            for use in (keep, load):
                with self.assertRaisesRegex(OSError, "/own belongs to another user: remove it"):
                    use()
        self.assertEqual(sorted(os.listdir("home/a/b")), before)
        os.symlink("loop", "loop")
        os.environ["BATCHAI_RESTART_DIRECTORY"] = os.path.join(self.here, "loop")
        for _, keep, _ in self.stores():
            with self.assertRaisesRegex(OSError, "Too many levels of symbolic links"):
                keep()

    @unittest.skipUnless(os.getuid() == 0, "only root can give files to other users")
    def test_nothing_is_read_from_a_directory_of_another_user(self):
        for _, keep, load in self.stores():
            keep()
        os.chown(self.directory, _OTHER, _OTHER)
        for _, keep, load in self.stores():
            keep()  # a project's directory, for example
            with self.assertRaisesRegex(OSError, "belongs to another user: remove it"):
                load()

    def test_a_link_to_a_file_is_not_read(self):
        os.mkdir(self.directory)
        with open("state", "wb") as file:
            pickle.dump(5, file)
        for name, _, load in self.stores():
            os.symlink(os.path.join(self.here, "state"), os.path.join(self.directory, name))
            with self.assertRaises(OSError):
                load()


class Models(Here):
    def test_a_model_is_not_saved_through_a_link(self):
        class Model(object):
            def save(self, filepath):
                with open(filepath, "w") as file:
                    file.write("weights")

        models = types.SimpleNamespace(Model=Model, Sequential=Model)
        saving.install(types.SimpleNamespace(models=models))
        with open("diary", "w") as file:
            file.write("dear diary")
        for name in (".rank-0.model.h5", "model.h5"):
            os.symlink("diary", name)
        with mock.patch.multiple(basics, is_initialized=lambda: True, size=lambda: 2,
                                 rank=lambda: 0):
            Model().save("model.h5")
        with open("diary") as file:
            self.assertEqual(file.read(), "dear diary")
        with open("model.h5") as file:
            self.assertEqual(file.read(), "weights")
        self.assertEqual(sorted(os.listdir(".")), [".rank-0.model.h5", "diary", "model.h5"])


if __name__ == "__main__":
    unittest.main()
