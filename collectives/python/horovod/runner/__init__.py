# SPDX-License-Identifier: Apache-2.0
"""Starting jobs, in Horovod's words, by batchai-launch."""
import os
import re
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


def run(func, args=(), kwargs=None, num_proc=None, min_num_proc=None, max_num_proc=None, slots=None,
        reset_limit=None, cooldown_range=None, hosts=None, hostfile=None, host_discovery_script=None,
        start_timeout=None, ssh_port=None, ssh_identity_file=None, disable_cache=None,
        output_filename=None, verbose=None, use_gloo=None, use_mpi=None, mpi_args=None,
        network_interface=None, network_interfaces=None, executable=None, np=None, min_np=None,
        max_np=None):
    """Calls func(*args, **kwargs) in the ranks of a new job; returns their results, by rank.

    func and its results: anything that cloudpickle, if installed, or pickle can carry. num_proc, or
    np, its older name: how many ranks (default: 1). hosts: "host1:2,host2:2", this machine or the
    nodes of the Slurm allocation, which share a folder for temporary files then: TMPDIR. hostfile: a
    file with a line "host1 slots=2" for each. network_interfaces: a list with the ranks' interface;
    network_interface: its older name, a text. output_filename: a folder for each rank's output.
    executable: the Python. use_gloo, verbose, disable_cache, start_timeout: accepted, and not needed.
    ValueError for the others, which are of ssh, MPI and jobs that grow. RuntimeError where a rank
    has failed.
    """
    refused = dict(min_num_proc=min_num_proc, max_num_proc=max_num_proc, slots=slots,
                   reset_limit=reset_limit, cooldown_range=cooldown_range,
                   host_discovery_script=host_discovery_script, ssh_port=ssh_port,
                   ssh_identity_file=ssh_identity_file, use_mpi=use_mpi, mpi_args=mpi_args,
                   min_np=min_np, max_np=max_np)
    given = sorted(name for name, value in refused.items() if value)
    if given:
        raise ValueError("horovod: run: %s: not supported: batchai-launch starts the ranks, without "
                         "ssh and MPI. For jobs that lose ranks, use its --restarts"
                         % ", ".join(given))
    if hosts and hostfile:
        raise ValueError("horovod: run: hosts and hostfile are both given: use one of them")
    if hostfile:
        with open(hostfile) as file:
            hosts = ",".join(re.sub(r"\s+slots\s*=\s*", ":", line.split("#")[0].strip())
                             for line in file if line.split("#")[0].strip())
    if network_interface and not network_interfaces:
        network_interfaces = network_interface.split(",")
    if network_interfaces and len(network_interfaces) > 1:
        raise ValueError("horovod: run: network_interfaces: %s: more than one: name the one that the "
                         "ranks use" % ",".join(network_interfaces))
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
