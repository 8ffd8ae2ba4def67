#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One job of each toolkit of the service on two nodes: what runs where, with which variables, and in
# which files its output is. A script stands in for CNTK and Caffe, which can no longer be installed.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit_alice
# shellcheck disable=SC2016 # the job expands them

load plugin

setup() {
    # Prints its arguments, and of its variables those of the service.
    cat >"$share/code/show.py" <<'END'
import os, sys
print(os.environ["SLURMD_NODENAME"], *sys.argv[1:])
for name, value in sorted(os.environ.items()):
    if name in ("TF_CONFIG", "KERAS_BACKEND") or name.startswith(("AZ_BATCHAI_TASK", "AZ_BATCHAI_PS", "AZ_BATCHAI_WORKER",
                                                                  "AZ_BATCHAI_PYTORCH", "AZ_BATCHAI_INPUT")):
        print(name + "=" + value)
END
    mkdir -p "$share/bin"
    for program in caffe cntk; do
        printf '#!/bin/sh\necho %s "$@"\n' $program >"$share/bin/$program"
        chmod 755 "$share/bin/$program"
    done
    script='"pythonScriptFilePath": "$AZ_BATCHAI_INPUT_CODE/show.py"'
}

# run_toolkit SETTINGS [MORE_PROPERTIES]: a job of two nodes; its files are in $files.
run_toolkit() {
    rm -rf "$share/out"
    cat >"$share/job.json" <<END
{
    "properties": {
        "nodeCount": 2,
        $1,
        "stdOutErrPathPrefix": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        "inputDirectories": [ { "id": "CODE", "path": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code" } ],
        "outputDirectories": [
            { "id": "MODEL", "pathPrefix": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out", "pathSuffix": "Models/v1" } ],
        "environmentVariables": [
            { "name": "PATH", "value": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/bin:/usr/bin:/bin" } ],
        "mountVolumes": { "azureFileShares": [ {
            "azureFileUrl": "https://account.file.core.windows.net/myshare", "relativeMountPath": "myshare" } ] }
        ${2:+, $2}
    }
}
END
    printf '#!/bin/sh\nexec %s/bin/batchai-launch\n' "$BATCHAI_BUILD" >"$share/script"
    submit_alice -N2 --batchai-job="$share/job.json" --output="$share/slurm.out" "$share/script"
    state=$(wait_job "$job")
    [ "$state" = COMPLETED ] || cat "$share/slurm.out"
    [ "$state" = COMPLETED ]
    files=$(find "$share/out" -name stdouterr)
    [ -d "${files%/stdouterr}/outputs/Models/v1" ]
}
# outputs: the files of the ranks' standard output, on one line.
outputs() { (cd "$files" && ls -1 stdout*.txt | paste -sd' '); }
# value NAME FILE: the value of a variable that show.py has printed.
value() { sed -n "s/^$1=//p" "$files/$2"; }

@test "tensorFlow: a master, a worker and a parameter server, which ends with them" {
    # The workers wait for the server, which waits for ever.
    cat >"$share/code/server.py" <<'END'
import os, sys, time
exec(open(os.path.dirname(sys.argv[0]) + "/show.py").read())
sys.stdout.flush()
served = os.environ["AZ_BATCHAI_OUTPUT_MODEL"] + "/served"
if sys.argv[1] == "--job=ps":
    open(served, "w").close()
    time.sleep(1000)
while not os.path.exists(served):
    time.sleep(0.1)
END
    run_toolkit '"tensorFlowSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_INPUT_CODE/server.py",
        "workerCount": 2, "parameterServerCount": 1,
        "masterCommandLineArgs": "--job=worker --task=$AZ_BATCHAI_TASK_INDEX --unknown=$AZ_BATCHAI_INPUT_NONE",
        "workerCommandLineArgs": "--job=worker --task=$AZ_BATCHAI_TASK_INDEX",
        "parameterServerCommandLineArgs": "--job=ps --task=$AZ_BATCHAI_TASK_INDEX" }'
    [ "$(outputs)" = "stdout-ps-0.txt stdout-wk-0.txt stdout-wk-1.txt" ]
    [ -f "$files/stderr-wk-1.txt" ]
    [ "$(head -n 1 "$files/stdout-wk-0.txt")" = "n1 --job=worker --task=0 --unknown=" ]
    [ "$(head -n 1 "$files/stdout-wk-1.txt")" = "n2 --job=worker --task=1" ]
    [ "$(head -n 1 "$files/stdout-ps-0.txt")" = "n1 --job=ps --task=0" ]
    servers=$(value AZ_BATCHAI_PS_HOSTS stdout-wk-1.txt)
    workers=$(value AZ_BATCHAI_WORKER_HOSTS stdout-wk-1.txt)
    [[ $servers =~ ^[0-9.]+:[0-9]+$ ]]
    [[ $workers =~ ^[0-9.]+:[0-9]+,[0-9.]+:[0-9]+$ ]]
    [ "$(value AZ_BATCHAI_WORKER_HOSTS stdout-ps-0.txt)" = "$workers" ]
    value TF_CONFIG stdout-wk-1.txt | jq -e --arg ps "$servers" --arg chief "${workers%,*}" --arg worker "${workers#*,}" \
        '. == {cluster: {chief: [$chief], worker: [$worker], ps: [$ps]}, task: {type: "worker", index: 0}, environment: "cloud"}'
    value TF_CONFIG stdout-ps-0.txt | jq -e '.task == {type: "ps", index: 0}'
    [ "$(value KERAS_BACKEND stdout-wk-0.txt)" = tensorflow ]
}

@test "pyTorch over Gloo: each rank has its number, a file to meet in and an output of its own" {
    run_toolkit '"pyTorchSettings": { '"$script"', "communicationBackend": "gloo",
        "commandLineArgs": "--rank $AZ_BATCHAI_TASK_INDEX" }'
    [ "$(outputs)" = "stdout-0.txt stdout-1.txt" ]
    [ "$(head -n 1 "$files/stdout-1.txt")" = "n2 --rank 1" ]
    meeting=$(value AZ_BATCHAI_PYTORCH_INIT_METHOD stdout-0.txt)
    [[ $meeting = file:///*/shared/pytorch-* ]]
    [ "$(value AZ_BATCHAI_PYTORCH_INIT_METHOD stdout-1.txt)" = "$meeting" ]
}

@test "pyTorch over TCP: the ranks meet at the first one's node" {
    run_toolkit '"pyTorchSettings": { '"$script"', "communicationBackend": "TCP" }'
    [[ $(value AZ_BATCHAI_PYTORCH_INIT_METHOD stdout-1.txt) =~ ^tcp://[0-9.]+:[0-9]+$ ]]
    [ "$(value AZ_BATCHAI_PYTORCH_BACKEND stdout-0.txt)" = tcp ]
}

@test "pyTorch over MPI: one output for all ranks" {
    run_toolkit '"pyTorchSettings": { '"$script"', "communicationBackend": "MPI", "processCount": 4 }'
    [ "$(outputs)" = stdout.txt ]
    [ "$(grep -c '^n[12]$' "$files/stdout.txt")" -eq 4 ]
}

@test "pyTorch's own init_process_group works over Gloo" {
    /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed"
    cat >"$share/code/gloo.py" <<'END'
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo", init_method=sys.argv[1], rank=int(sys.argv[2]), world_size=int(sys.argv[3]))
total = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
print("total", total.item())
END
    run_toolkit '"pyTorchSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_INPUT_CODE/gloo.py",
        "pythonInterpreterPath": "/usr/bin/python3", "communicationBackend": "gloo",
        "commandLineArgs": "$AZ_BATCHAI_PYTORCH_INIT_METHOD $AZ_BATCHAI_TASK_INDEX 2" }'
    [ "$(cat "$files/stdout-0.txt" "$files/stdout-1.txt")" = $'total 3.0\ntotal 3.0' ]
}

@test "caffe2: one shard on each node" {
    run_toolkit '"caffe2Settings": { '"$script"', "commandLineArgs": "--shard $AZ_BATCHAI_TASK_INDEX $AZ_BATCHAI_SHARED_JOB_TEMP" }'
    [ "$(outputs)" = "stdout-0.txt stdout-1.txt" ]
    [[ $(head -n 1 "$files/stdout-1.txt") = "n2 --shard 1 /"*/shared ]]
}

@test "caffe: a solver, or a script" {
    run_toolkit '"caffeSettings": { "configFilePath": "$AZ_BATCHAI_INPUT_CODE/show.py", "commandLineArgs": "-gpu all" }'
    [ "$(sort -u "$files/stdout.txt")" = "caffe train --solver=/run/batchai/mnt/myshare/code/show.py -gpu all" ]
    run_toolkit '"caffeSettings": { '"$script"', "commandLineArgs": "-gpu all" }'
    [ "$(grep ^n "$files/stdout.txt" | sort)" = $'n1 -gpu all\nn2 -gpu all' ]
}

@test "cntk: BrainScript, or Python with Keras told of its backend" {
    run_toolkit '"cntkSettings": { "configFilePath": "$AZ_BATCHAI_INPUT_CODE/show.py",
        "commandLineArgs": "rootDir=. outputDir=$AZ_BATCHAI_OUTPUT_MODEL" }'
    [[ $(sort -u "$files/stdout.txt") = "cntk configFile=/run/batchai/mnt/myshare/code/show.py rootDir=. outputDir=/run/batchai/mnt/myshare/out/"*/outputs/Models/v1 ]]
    run_toolkit '"cntkSettings": { '"$script"', "languageType": "python", "processCount": 4 }'
    [ "$(grep -c '^KERAS_BACKEND=cntk$' "$files/stdout.txt")" -eq 4 ]
}

mpi4py() {
    echo 'from mpi4py import MPI; print("total", MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1))' >"$share/code/total.py"
    /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "mpi4py is not installed"
}

@test "chainer: a script of mpi4py is one MPI job" {
    mpi4py
    run_toolkit '"chainerSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_INPUT_CODE/total.py",
        "pythonInterpreterPath": "/usr/bin/python3", "processCount": 4 }'
    [ "$(sort "$files/stdout.txt" | uniq -c | xargs)" = "4 total 10" ]
}

@test "customMpi: a command line without mpirun is one MPI job" {
    mpi4py
    run_toolkit '"customMpiSettings": { "commandLine": "/usr/bin/python3 $AZ_BATCHAI_INPUT_CODE/total.py" }'
    [ "$(sort "$files/stdout.txt" | uniq -c | xargs)" = "2 total 3" ]
}

@test "horovod: a script on every rank, with inputs and outputs that the preparation sees too" {
    run_toolkit '"horovodSettings": { '"$script"', "processCount": 4, "commandLineArgs": "$(cat $AZ_BATCHAI_OUTPUT_MODEL/ready)" }' \
        '"jobPreparation": { "commandLine": "ls $AZ_BATCHAI_INPUT_CODE; echo ready >$AZ_BATCHAI_OUTPUT_MODEL/ready" }'
    [ "$(grep ^n "$files/stdout.txt" | sort | uniq -c | xargs)" = "2 n1 ready 2 n2 ready" ]
    grep -q show.py "$files/stdout-job_prep-n1.txt"
    [ "$(cat "${files%/stdouterr}/outputs/Models/v1/ready")" = ready ]
}

@test "customToolkit: one process on the first node, which finds all nodes" {
    run_toolkit '"customToolkitSettings": { "commandLine": "echo $SLURMD_NODENAME; wc -l <$AZ_BATCHAI_MPI_HOST_FILE; srun hostname" }'
    [ "$(head -n 2 "$files/stdout.txt")" = $'n1\n2' ]
    [ "$(tail -n 2 "$files/stdout.txt" | sort)" = $'n1\nn2' ]
}

@test "an output directory that is on none of the job's mounts is not made, and refuses the job" {
    rm -rf "$share/out" && mkdir -p "$share/out" "$MINISLURM_DIR/elsewhere" && chmod 777 "$share/out" "$MINISLURM_DIR/elsewhere"
    sed 's|"pathPrefix": "[^"]*"|"pathPrefix": "'"$MINISLURM_DIR"'/elsewhere"|' "$share/job.json" >"$share/other.json"
    run ! as_alice sbatch -N2 --batchai-job="$share/other.json" "$share/script"
    [[ $output = *"other.json:"*"properties.outputDirectories[0].pathPrefix: '$MINISLURM_DIR/elsewhere' is on no volume"* ]]
    [ -z "$(ls "$MINISLURM_DIR/elsewhere")" ]
}

@test "a working directory below one path on all nodes, and .bashrc's new lines, for ranks on two nodes" {
    run_toolkit '"customMpiSettings": { "commandLine": "echo $PWD $ADDED $(cat prepared)" }' \
        '"jobPreparation": { "commandLine": "hostname >prepared; echo \"export ADDED=yes\" >>~/.bashrc" }'
    [ "$(sort "$files/stdout.txt")" = $'/run/batchai/mnt/.temp/wd yes n1\n/run/batchai/mnt/.temp/wd yes n2' ]
}
