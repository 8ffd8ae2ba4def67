# SPDX-License-Identifier: Apache-2.0
"""The commands of batchai's wheel, each a program beside this file."""
import os
import sys


def _run(name):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    os.execv(program, [program] + sys.argv[1:])


def batchai():
    """The command batchai."""
    _run("batchai")


def batchai_launch():
    """The command batchai-launch."""
    _run("batchai-launch")
