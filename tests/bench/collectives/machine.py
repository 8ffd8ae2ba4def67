# SPDX-License-Identifier: Apache-2.0
"""This machine: whether it is idle, what the hypervisor has taken from it, and programs run on it with a limit."""

import os
import signal
import subprocess
import sys
import time

CORES = sorted(os.sched_getaffinity(0))


def ticks():
    """(all, idle, stolen) of all processors since boot."""
    with open("/proc/stat", encoding="ascii") as stat:
        values = [int(word) for word in stat.readline().split()[1:9]]
    return sum(values), values[3] + values[4], values[7]


def wait_until_idle(patience):
    """Whether nine tenths of the machine were idle for half a second, within so many seconds."""
    end = time.monotonic() + patience
    while True:
        before = ticks()
        time.sleep(0.5)
        after = ticks()
        if after[1] - before[1] >= 0.9 * (after[0] - before[0]):
            return True
        if time.monotonic() >= end:
            return False


class Stolen:
    """The part of the processors' time that the hypervisor had for others, since this was made."""

    def __init__(self):
        self.begin = ticks()

    def part(self):
        now = ticks()
        return (now[2] - self.begin[2]) / max(1, now[0] - self.begin[0])


def run(command, environment, limit):
    """(output, why it failed, or nothing). What has not ended in time is killed with all that it has started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, too
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    late = False
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        late = True
        output, errors = end(process)
    except BaseException:  # the benchmark itself is to end
        end(process)
        raise
    if late:
        return output, f"no end within {limit:g} s"
    if process.returncode != 0:
        lines = [line for line in errors.splitlines() if line.strip()]
        return output, f"exit code {process.returncode}: {lines[0] if lines else 'nothing said'}"
    return output, ""


def end(process):
    """Asks first: a launcher then ends its ranks, on other nodes too."""
    for what, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, what)
            return process.communicate(timeout=patience)
        except (subprocess.TimeoutExpired, ProcessLookupError):
            continue
    return "", ""
