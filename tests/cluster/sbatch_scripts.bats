#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The scripts of contrib/sbatch, as they are, with small programs under the names that they run. container.sbatch is in
# containers.bats.
# minislurm: -n 4 -g 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit

load plugin

BATS_TEST_TIMEOUT=$(often 3000 280)
export BATS_TEST_TIMEOUT

setup() {
    cd "$(mktemp -d "$MINISLURM_DIR/script.XXXX")" || return
    export OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
    deadline=240 # frameworks are loaded by all ranks at once
}

# run_script NAME [SBATCH_OPTION]...: the script of contrib/sbatch; it succeeds, and its output is in the file out.
run_script() {
    submit --output=out "${@:2}" "$BATCHAI_SOURCE/contrib/sbatch/$1.sbatch"
    [ "$(wait_job "$job")" = COMPLETED ] || {
        cat out >&2
        return 1
    }
}

# says COUNT LINE: COUNT lines of the output are LINE.
says() {
    [ "$(grep -cxF -- "$2" out)" = "$1" ] || {
        cat out >&2
        return 1
    }
}

@test "every script says what to change, and has a test" {
    for script in "$BATCHAI_SOURCE"/contrib/sbatch/*.sbatch; do
        bash -n "$script"
        grep -q '^# .*Change:' "$script"
        name=$(basename "$script" .sbatch)
        grep -q "run_script $name\b\|sbatch/$name\.sbatch" "$BATS_TEST_FILENAME" "$BATCHAI_SOURCE/tests/cluster/containers.bats"
    done
}

@test "horovod-pytorch" {
    with_python torch
    cat >train.py <<'PY'
import torch, horovod.torch as hvd
hvd.init()
print("sum %g of %d ranks" % (hvd.allreduce(torch.ones(1), op=hvd.Sum).item(), hvd.size()))
PY
    run_script horovod-pytorch
    says 4 "sum 4 of 4 ranks"
}

@test "horovod-keras" {
    with_python tensorflow tf2.21
    cat >train.py <<'PY'
import numpy, keras, horovod.keras as hvd
hvd.init()
model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.01)), loss="mse")
model.fit(numpy.ones((4, 1)), numpy.ones((4, 1)), verbose=0, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
print("trained by %d ranks" % hvd.size())
PY
    run_script horovod-keras --nodes=2
    says 2 "trained by 2 ranks"
}

@test "pytorch-ddp" {
    with_python torch
    tell_torch_of_libuv
    cat >train.py <<'PY'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
model(torch.ones(1, 1)).sum().backward()
print("gradient %g of %d ranks" % (model.module.bias.grad.item(), dist.get_world_size()))
PY
    run_script pytorch-ddp
    says 4 "gradient 1 of 4 ranks"
}

@test "pytorch-fsdp, which saves a checkpoint when its time ends" {
    with_python torch torch
    cat >train.py <<'PY'
import signal, time, torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
def save(*_):
    print("rank %d saves" % dist.get_rank(), flush=True)
    raise SystemExit(0)
signal.signal(signal.SIGTERM, save)
dist.init_process_group("gloo")
model = fully_shard(torch.nn.Linear(4, 4), mesh=dist.init_device_mesh("cpu", (dist.get_world_size(),)))
model(torch.ones(1, 4)).sum().backward()
print("sharded", flush=True)
time.sleep(100)
PY
    submit --output=out --nodes=2 "$BATCHAI_SOURCE/contrib/sbatch/pytorch-fsdp.sbatch"
    eventually says 2 sharded
    scancel --signal=TERM --batch "$job"
    wait_job "$job"
    says 1 "rank 0 saves"
    says 1 "rank 1 saves"
}

@test "tensorflow-multiworker" {
    with_python tensorflow tf2.21
    echo 'import tensorflow as tf; print(tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync, "workers")' >train.py
    run_script tensorflow-multiworker --nodes=2
    says 2 "2 workers"
}

@test "jax" {
    with_python jax tf2.21
    cat >train.py <<'PY'
import jax
jax.distributed.initialize()
print("process of %d" % jax.process_count())
PY
    export JAX_PLATFORMS=cpu
    run_script jax --nodes=2
    says 2 "process of 2"
    run -0 timeout -k 2 100 env -u SLURM_CONF batchai-launch --local 2 -n 2 python3 train.py # without Slurm
    [ "$(grep -cx "process of 2" <<<"$output")" = 2 ]
}

@test "openmpi" {
    check=$BATCHAI_BUILD/tests/peers/openmpi_check
    [ -x "$check" ] || skip "Open MPI's compiler is not installed"
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp # between network namespaces its own choice is not stable
    printf '#!/bin/sh\nexec %s 8 4\n' "$check" >a.out
    chmod +x a.out
    run_script openmpi --overcommit
    [ "$(grep -c 'of 8 is fine$' out)" = 8 ]
}

@test "mpi4py, with a scratch directory on every node" {
    with_python mpi4py
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp
    cat >script.py <<'PY'
import os
from mpi4py import MPI
print("of %d, scratch %s" % (MPI.COMM_WORLD.size, os.path.ismount(os.environ["AZ_BATCHAI_JOB_MOUNT_ROOT"] + "/scratch")))
PY
    run_script mpi4py --overcommit --batchai-mount=none --batchai-mount=tmpfs:scratch:size=16M
    says 8 "of 8, scratch True"
}

@test "sweep: each line of settings is a training with outputs of its own" {
    printf -- '--rate %s --layers 2\n' 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 >settings.txt
    echo 'import sys; print(*sys.argv[1:])' >train.py
    run_script sweep
    for number in {1..8}; do eventually job_is_over "${job}_$number"; done # they end in any order
    for number in 1 8; do [ "$(cat "sweep.$number/rank.0/stdout")" = "--rate 0.$number --layers 2" ]; done
    [ "$(cat sweep.*/rank.*/stdout | sort -u | wc -l)" = 8 ]
}

@test "batchai-job" {
    cat >job.json <<'END_JSON'
{ "properties": { "nodeCount": 4, "customMpiSettings": { "commandLine": "echo rank" },
  "stdOutErrPathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
  "mountVolumes": { "azureFileShares": [ {
      "azureFileUrl": "https://account.file.core.windows.net/myshare", "relativeMountPath": "myshare" } ] } } }
END_JSON
    run_script batchai-job
    [ "$(find "$share/out" -name stdout.txt -exec cat {} + | grep -cx rank)" = 4 ]
}

@test "requeue: a training that is asked to end saves its work, and goes on from there" {
    cat >train.py <<'PY'
import os, signal, sys, time
name = "checkpoint.%s" % os.environ["RANK"]
if os.path.exists(name):
    print("goes on", flush=True)
    sys.exit(0)
def save(*_):
    open(name, "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("begins", flush=True)
time.sleep(100)
PY
    submit --output=out --nodes=1 --exclude=n3,n4 --ntasks-per-node=1 "$BATCHAI_SOURCE/contrib/sbatch/requeue.sbatch"
    eventually says 1 begins
    scancel --signal=TERM --batch "$job"
    # The nodes where it ran would not take it again before two minutes have passed.
    eventually is_queued_again
    [ "$(wait_job "$job")" = COMPLETED ]
    says 1 "goes on"
}
is_queued_again() {
    [ "$(job_field "$job" Restarts)" = 1 ] && [ "$(job_state "$job")" = PENDING ] &&
        scontrol update JobId="$job" StartTime=now ExcNodeList=n1,n2
}

@test "mixed-nodes: a rank for each GPU that the job has on a node" {
    echo 'import os; print(os.environ["SLURM_NODEID"], os.environ["LOCAL_WORLD_SIZE"])' >train.py
    run_script mixed-nodes --gpus=5
    [ "$(grep -c '^[0-9] [12]$' out)" = 5 ]
    [ "$(grep -c '^[0-9] 1$' out)" = 1 ]
}
