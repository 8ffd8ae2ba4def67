#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# A rank is one process at a time: a launcher inside a rank, a second process, a launcher that was forgotten.
# shellcheck disable=SC2016,SC2154 # expanded by the rank's shell; output and status are set by run

load ../cluster/lib
load ranks

setup() {
    deadline=60
    export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
    check=$BATCHAI_SOURCE/tests/peers/one_process_check.py
    python=/usr/bin/python3
    first=$BATS_TEST_TMPDIR/first
}

# refused GLOB: the job has failed, for this reason and no other.
refused() {
    echo "$output"
    [ "$status" -ne 0 ]
    # shellcheck disable=SC2053 # a glob
    [[ $output = *$1* ]]
    [[ $output != *"is fine"* ]]
    [[ $output != *NOT-FOUND* && $output != *INVALID-ARG* && $output != *TIMEOUT* && $output != *watchdog* ]]
}

# A second process of rank 0, once the first one has called init(). $0 is the check, $1 the file.
second='"$0" hold "$1" & until [ -e "$1.$PMIX_RANK" ]; do sleep 0.1; done; [ $PMIX_RANK != 0 ] || "$0"; wait'

@test "processes of a launcher like torchrun do not pair up with one process of each rank" {
    for layout in "local_launch 2 2" "local_launch 1 2" "slurm_launch 2 2"; do
        # shellcheck disable=SC2086 # words
        run $layout "$python" "$check" launcher 4
        refused 'torchrun made this process * of 4; batchai-launch knows rank * of 2: use one of them'
        # One of its own in each rank.
        # shellcheck disable=SC2086 # words
        run $layout "$python" "$check" launcher 2
        refused 'torchrun made this process * of 2; batchai-launch knows rank * of 2: use one of them'
    done
}

@test "processes of a launcher like torchrun are not rank 0 of 1 each" {
    run local_launch 1 1 "$python" "$check" launcher 2
    refused "torchrun made this process 0 of 2; batchai-launch knows rank 0 of 1: use one of them"
    GROUP_RANK=0 PYTHONPATH=$BATCHAI_BUILD/lib/batchai/python run timeout -k 2 60 "$python" "$check" launcher 2
    refused "torchrun made this process 0 of 2; without batchai-launch it is rank 0 of 1"
}

@test "torchrun itself with several processes in a rank is refused, and with one it is not" {
    "$python" -c 'import torch.distributed.run' 2>/dev/null || skip "python3-torch is not installed"
    tell_torch_of_libuv "$python"
    # Without output options, torch 1.13 fails under Python 3.11.
    torchrun=("$python" -m torch.distributed.run --standalone -r 1 -t 1 --log_dir "$BATS_TEST_TMPDIR/log")
    run local_launch 1 2 "${torchrun[@]}" --nproc_per_node 2 "$check"
    refused " of 2; batchai-launch knows rank "
    run local_launch 1 2 "${torchrun[@]}" --nproc_per_node 1 "$check"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'rank [01] of 2 is fine$' <<<"$output")" -eq 2 ]
}

@test "a second process of a rank does not train beside the first" {
    for layout in "local_launch 2 2" "local_launch 1 2" "slurm_launch 2 2"; do
        rm -f "$first".*
        # shellcheck disable=SC2086 # words
        run $layout sh -c "$second" "$check" "$first"
        refused ": a rank is one process at a time"
        [[ $output = *"batchai-launch: rank "* ]]
    done
}

@test "two processes of a job's only rank do not train a model each" {
    run local_launch 1 1 sh -c "$second" "$check" "$first"
    refused " is rank 0 of this job already: a rank is one process at a time"
    run local_launch 1 1 "$python" "$check" spawn
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output = *" is rank 0 of this job already: a rank is one process at a time"* ]]
}

@test "a second process of a rank is refused under srun too" {
    local with="env PYTHONPATH=$BATCHAI_BUILD/lib/batchai/python"
    # shellcheck disable=SC2086 # words
    run srun -Q -N2 -n2 --mpi=pmix --kill-on-bad-exit=1 $with sh -c "$second" "$check" "$first"
    refused " of this job already: a rank is one process at a time"
}

@test "srun inside a rank does not make several processes of it" {
    run salloc --quiet -N1 -n4 batchai-launch -n 2 sh -c '[ "$RANK" = 1 ] || exec srun -Q -n2 --overlap --mpi=none "$0"; exec "$0"' "$check"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output = *"srun made this process 1 of 2; batchai-launch knows rank 0 of 2: use one of them"* ]]
}

@test "tasks of srun without a launcher are told once that each is a job of its own" {
    export PYTHONPATH=$BATCHAI_BUILD/lib/batchai/python
    run srun -Q -N2 -n4 --mpi=none "$python" "$check"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank 0 of 1 is fine$' <<<"$output")" -eq 4 ]
    [ "$(grep -c '^collectives: srun started 4 processes, and each of them is a job of its own' <<<"$output")" -eq 1 ]
    run -0 srun -Q -N2 -n4 --mpi=pmix "$python" "$check"
    fine 4
    run srun -Q -N1 -n1 --mpi=none "$python" "$check"
    [ "$output" = "rank 0 of 1 is fine" ]
}

@test "programs of a rank in turn, and variables that a script sets, are no second launcher" {
    for layout in "local_launch 1 2" "slurm_launch 2 2"; do
        # shellcheck disable=SC2086 # words
        run -0 $layout sh -c '"$0" && RANK=0 "$0" && WORLD_SIZE=1 RANK=0 "$0" && SLURM_NTASKS=16 exec "$0"' "$check"
        fine 8
    done
}
