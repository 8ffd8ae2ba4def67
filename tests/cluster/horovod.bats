#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 4 -g 1
# needs: torch
#
# Horovod scripts in a Slurm allocation, started by batchai-launch.

load lib

setup_file() {
    cat >"$MINISLURM_DIR/who.py" <<'SCRIPT'
import socket
import horovod.torch as hvd
import torch

hvd.init()
total = hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum).item()
places = hvd.allgather_object((hvd.cross_rank(), hvd.local_rank()))
if hvd.rank() == 0:
    print("size %d nodes %d sum %d places %s" % (hvd.size(), hvd.cross_size(), total, places))
SCRIPT
    cat >"$MINISLURM_DIR/fails.py" <<'SCRIPT'
import horovod.torch as hvd
import torch

hvd.init()
if hvd.rank() == 2:
    raise RuntimeError("rank 2 is unhappy")
hvd.allreduce(torch.ones(1))
SCRIPT
}

# launch SBATCH_OPTION... -- LAUNCH_ARGUMENT...: batchai-launch in a job; its output is in $out.
launch() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    out=$BATS_TEST_TMPDIR/out
    submit "${options[@]}" --output="$out" --wrap "batchai-launch $*"
    # shellcheck disable=SC2154 # submit sets job
    state=$(deadline=100 wait_job "$job") || true
    cat "$out"
}

@test "a Horovod script runs with one rank per GPU of the allocation" {
    launch -N4 --gres=gpu:1 -- /usr/bin/python3 "$MINISLURM_DIR/who.py"
    [ "$state" = COMPLETED ]
    grep -F 'size 4 nodes 4 sum 6 places [(0, 0), (1, 0), (2, 0), (3, 0)]' "$out"
}

@test "several ranks of a node share it with the ranks of other nodes" {
    launch -N2 --ntasks-per-node=2 --overcommit -- --ranks-per-node 2 /usr/bin/python3 "$MINISLURM_DIR/who.py"
    [ "$state" = COMPLETED ]
    grep -F 'size 4 nodes 2 sum 6 places [(0, 0), (0, 1), (1, 0), (1, 1)]' "$out"
}

@test "every operation and the optimizer give the same results between nodes as inside one" {
    launch -N2 --overcommit -- --ranks-per-node 2 env OMP_NUM_THREADS=1 /usr/bin/python3 \
        "$BATCHAI_SOURCE/tests/unit/python/run.py" \
        ranks_operations ranks_agreement ranks_functions ranks_optimizer
    [ "$state" = COMPLETED ]
}

@test "a rank that fails ends the job, and its message is in the output" {
    launch -N4 --gres=gpu:1 -- /usr/bin/python3 "$MINISLURM_DIR/fails.py"
    [ "$state" = FAILED ]
    grep -F 'rank 2 is unhappy' "$out"
}
