# SPDX-License-Identifier: Apache-2.0
"""Starting jobs, in Horovod's words, by batchai-launch."""
import os
import shutil
import subprocess
import sys
import tempfile

# In a rank of run(): reads the function, writes its result.
_RANK = """
import sys
sys.path[:] = [path for path in sys.path if path]  # not the current directory, as -c would have it
import os
try:
    import cloudpickle as pickle
except ImportError:
    import pickle
sys.path.insert(0, sys.argv[2])  # where the caller's own modules are
folder = sys.argv[1]
with open(os.path.join(folder, "function"), "rb") as file:
    function, args, kwargs = pickle.load(file)
result = function(*args, **kwargs)
place = os.path.join(folder, "result." + os.environ["RANK"])
with open(place + ".part", "wb") as file:
    pickle.dump(result, file)
os.rename(place + ".part", place)
"""


def run(func, args=(), kwargs=None, num_proc=None, hosts=None, network_interfaces=None,
        output_filename=None, executable=None, use_gloo=None, use_mpi=None, np=None):
    """Calls func(*args, **kwargs) in the ranks of a new job; returns their results, by rank.

    func and its results: anything that cloudpickle, if installed, or pickle can carry. num_proc, or
    np, its older name: how many ranks (default: 1). hosts: "host1:2,host2:2", this machine or the
    nodes of the Slurm allocation, which share a folder for temporary files then: TMPDIR.
    network_interfaces: a list with the ranks' interface. output_filename: a folder for each rank's
    output. executable: the Python. use_gloo: the default, without MPI; use_mpi: a ValueError.
    RuntimeError where a rank has failed.
    """
    if use_mpi:
        raise ValueError("horovod: run: use_mpi: batchai-launch starts the ranks without MPI")
    from horovod.runner.launch import _allocated, launcher, placement
    try:
        import cloudpickle as pickle
    except ImportError:
        import pickle
    words = placement(num_proc or np or (None if hosts else 1), hosts, _allocated())
    if network_interfaces:
        words += ["--interface", network_interfaces[0]]
    if output_filename:
        words += ["--output-dir", output_filename]
    folder = tempfile.mkdtemp(prefix="horovod-run-")
    try:
        with open(os.path.join(folder, "function"), "wb") as file:
            pickle.dump((func, tuple(args), kwargs or {}), file)
        code = subprocess.call([launcher()] + words +
                               ["--", executable or sys.executable, "-c", _RANK, folder,
                                sys.path[0]])
        if code != 0:
            raise RuntimeError("horovod: run: the job ended with exit code %d" % code)
        results = []
        while os.path.exists(os.path.join(folder, "result.%d" % len(results))):
            with open(os.path.join(folder, "result.%d" % len(results)), "rb") as file:
                results.append(pickle.load(file))
        return results
    finally:
        shutil.rmtree(folder, ignore_errors=True)
