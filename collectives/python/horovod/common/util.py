# SPDX-License-Identifier: Apache-2.0
"""What the environment says."""
import math
import os

# What the library takes: seconds, operations.
_LONGEST, _MOST_CACHED = 10 ** 7, 2 ** 20
# BATCHAI_COLL_TUNE_FUSION, BATCHAI_COLL_TUNE_CYCLE.
_TUNE_FUSION, _TUNE_CYCLE = 1, 2


def environment_size(name, default, most=2 ** 63 - 1):
    """The environment variable as a whole number, zero to most, of bytes for instance.

    Raises ValueError, naming the variable, where it holds something else.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise ValueError("%s: %r is not a whole number" % (name, text))
    if int(text) > most:
        raise ValueError("%s: %s is more than %d" % (name, text, most))
    return int(text)


def environment_number(name, default, most):
    """The environment variable as a number, zero to most. ValueError for something else."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ValueError("%s: %r is not a number" % (name, text))
    if number > most:
        raise ValueError("%s: %s is more than %d" % (name, text, most))
    return number


def environment_flag(name):
    """Whether the environment variable is a whole number other than 0, as Horovod reads flags."""
    return environment_size(name, 0) != 0


def queue_options():
    """What Horovod's variables say about the queue: fields of batchai_coll_queue_options.

    HOROVOD_FUSION_THRESHOLD (bytes), HOROVOD_CYCLE_TIME (milliseconds), HOROVOD_CACHE_CAPACITY,
    HOROVOD_AUTOTUNE (of the threshold and the cycle time, where they are not set),
    HOROVOD_STALL_CHECK_DISABLE, HOROVOD_STALL_CHECK_TIME_SECONDS. Others keep the library's
    defaults.
    """
    options = {"fusion_bytes": environment_size("HOROVOD_FUSION_THRESHOLD", None),
               "cycle": environment_number("HOROVOD_CYCLE_TIME", None, 1000 * _LONGEST),
               "cache_capacity": environment_size("HOROVOD_CACHE_CAPACITY", None, _MOST_CACHED),
               "stall_warning": environment_number("HOROVOD_STALL_CHECK_TIME_SECONDS", None,
                                                   _LONGEST)}
    if environment_flag("HOROVOD_STALL_CHECK_DISABLE"):
        options["stall_warning"] = 0
    if options["cycle"] is not None:
        options["cycle"] /= 1000
    tuned = {"fusion_bytes": _TUNE_FUSION, "cycle": _TUNE_CYCLE}
    if environment_flag("HOROVOD_AUTOTUNE"):
        options["autotune"] = sum(flag for name, flag in tuned.items() if options[name] is None)
    if options["cache_capacity"] == 0:  # Horovod's way to have none; here one is needed
        options["cache_capacity"] = 1
    return {name: value for name, value in options.items() if value is not None}
