# SPDX-License-Identifier: Apache-2.0
"""Settings from the environment, and Horovod's functions of this module that scripts import."""
import contextlib
import os
import re
import subprocess
import sys
import warnings

# The largest values that the library takes: seconds, operations.
_LONGEST, _MOST_CACHED = 10 ** 7, 2 ** 20
# BATCHAI_COLL_TUNE_FUSION, BATCHAI_COLL_TUNE_CYCLE.
_TUNE_FUSION, _TUNE_CYCLE = 1, 2

# Horovod's names of frameworks.
EXTENSIONS = ["tensorflow", "torch", "mxnet"]


def environment_size(name, default, most=2 ** 63 - 1):
    """The environment variable as a whole number, zero to most, of bytes for instance.

    Raises ValueError, naming the variable, where it holds something else.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not re.match("[0-9]+$", text):
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
        number = -1
    if not 0 <= number < float("inf"):
        raise ValueError("%s: %r is not a number" % (name, text))
    if number > most:
        raise ValueError("%s: %s is more than %d" % (name, text, most))
    return number


def environment_flag(name):
    """Whether the environment variable is a whole number other than 0, as Horovod reads flags."""
    return environment_size(name, 0) != 0


def queue_options():
    """Options of the queue from Horovod's variables: fields of batchai_coll_queue_options.

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


@contextlib.contextmanager
def env(**kwargs):
    """Inside it these environment variables are set; those given as None are left alone."""
    wanted = {name: value for name, value in kwargs.items() if value is not None}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _cache(function):
    """A function that is called once for each choice of its arguments."""
    results = {}

    def wrapper(*args, **kwargs):
        key = args, frozenset(kwargs.items())
        if key not in results:
            results[key] = function(*args, **kwargs)
        return results[key]
    return wrapper


def extension_available(ext_base_name, verbose=False):
    """Whether horovod.tensorflow, say, can be imported here; tried in a process of its own."""
    return _tried("import horovod.%s" % ext_base_name, verbose)


@_cache
def gpu_available(ext_base_name, verbose=False):
    """Whether that framework, "torch" for instance, sees a GPU."""
    return _tried("import horovod.%s as hvd, sys; sys.exit(not hvd._check_has_gpu())"
                  % ext_base_name, verbose)


def _tried(script, verbose):
    """Whether an interpreter like this one runs the script. verbose: its errors are shown."""
    # Not from the current directory, which -c puts first: another user may write there.
    script = "import sys; sys.path[:] = [path for path in sys.path if path]; " + script
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    with open(os.devnull, "w") as nowhere:
        return subprocess.call([sys.executable, "-c", script], env=environment, stdout=nowhere,
                               stderr=None if verbose else nowhere) == 0


def gloo_built(verbose=False):
    """True: scripts ask this to know whether operations on host memory work without MPI."""
    return True


def mpi_built(verbose=False):
    """False: data goes through shared memory and UCX."""
    return False


nccl_built = ddl_built = ccl_built = mpi_built


def check_extension(ext_name, ext_env_var, pkg_path, *args):
    """Raises ImportError where the collective library cannot be loaded.

    The arguments are Horovod's, whose extensions are one for each framework.
    """
    from horovod.common import exceptions, library
    try:
        library.load()
        return
    except exceptions.HorovodInternalError as error:
        problem = str(error)
    raise ImportError(problem)


def get_average_backwards_compatibility_fun(reduce_ops):
    """A function of (op, average), the older argument: the reduction that they ask for.

    reduce_ops: has Average and Sum. Asking by both is a ValueError.
    """
    def chosen(op, average):
        if average is None:
            return reduce_ops.Average if op is None else op
        if op is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of "
                             "them.")
        warnings.warn("Parameter `average` has been replaced with `op` and will be removed",
                      DeprecationWarning, stacklevel=3)
        return reduce_ops.Average if average else reduce_ops.Sum
    return chosen


def num_rank_is_power_2(num_rank):
    """Whether a number of ranks is a power of two."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def split_list(l, n):
    """A list in n parts of lengths as equal as can be, the longer ones first."""
    least, more = divmod(len(l), n)
    starts = [part * least + min(part, more) for part in range(n + 1)]
    return [l[start:end] for start, end in zip(starts, starts[1:])]


def is_iterable(x):
    """Whether x has elements to go through."""
    try:
        iter(x)
    except TypeError:
        return False
    return True


def is_version_greater_equal_than(ver, target):
    """Whether version ver is at least target, "1.2.3". ValueError for anything but strings."""
    if not isinstance(ver, str) or not isinstance(target, str):
        raise ValueError("horovod: versions %r and %r: expected strings" % (ver, target))
    if len(target.split(".")) != 3:
        raise ValueError("horovod: version %r: expected major.minor.patch" % target)
    return _numbers(ver) >= _numbers(target)


def _numbers(version):
    """The leading numbers of a version: 2, 15, 0 of "2.15.0rc1+cpu"."""
    return [int(number) for number in re.match("[0-9.]*[0-9]", version).group().split(".")]
