#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2

load ../cluster/lib

# Between network namespaces of one machine Open MPI's own choice of transports is not stable; the
# ranks outnumber the cores.
setup_file() {
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1
}

setup() {
    check=$BATCHAI_BUILD/tests/peers/openmpi_check
    [ -x "$check" ] || skip "Open MPI's compiler is not installed"
}

local_launch() { timeout -k 2 60 batchai-launch --local 2 -n 4 -- "$@"; }
slurm_launch() { salloc --quiet -N2 batchai-launch -n 4 -- "$@"; }

all_fine() { [ "$(grep -c 'of 4 is fine$' <<<"$output")" -eq 4 ]; }

@test "an unmodified Open MPI program starts on one machine that plays two nodes" {
    run local_launch "$check" 4 2
    [ "$status" -eq 0 ]
    all_fine
}

@test "an unmodified Open MPI program starts on two nodes of Slurm" {
    run slurm_launch "$check" 4 2
    [ "$status" -eq 0 ]
    all_fine
}

@test "an unmodified Open MPI program starts with different numbers of ranks on its nodes" {
    run salloc --quiet -N2 batchai-launch -n 3 -- sh -c "exec $check 3 \$LOCAL_WORLD_SIZE"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'of 3 is fine$' <<<"$output")" -eq 3 ]
}

@test "MPI_Publish_name is seen on the other node" {
    run slurm_launch "$check" 4 2 publish
    [ "$status" -eq 0 ]
    all_fine
}

@test "MPI_Abort ends the job with its code" {
    run slurm_launch "$check" 4 2 abort 3 7
    [ "$status" -eq 7 ]
    [[ $output = *"batchai-launch: rank 3 on n2 aborted the job with code 7"* ]]
}

@test "an unmodified mpi4py script starts on one machine that plays two nodes" {
    run local_launch /usr/bin/python3 "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
    [ "$status" -eq 0 ]
    all_fine
}

@test "an unmodified mpi4py script starts on two nodes of Slurm" {
    run slurm_launch /usr/bin/python3 "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
    [ "$status" -eq 0 ]
    all_fine
}

@test "an Open MPI program started by mpirun inside our job does not find our leftovers" {
    run timeout -k 2 60 batchai-launch --local 1 -n 1 -- \
        mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 sh -c 'echo "$OMPI_COMM_WORLD_SIZE"'
    [ "$status" -eq 0 ]
    [ "$output" = $'2\n2' ]
}
