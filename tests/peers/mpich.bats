#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2

load ../cluster/lib

setup() {
    check=$BATCHAI_BUILD/tests/peers/mpich_check
    [ -x "$check" ] || skip "MPICH's compiler is not installed"
}

local_launch() { timeout -k 2 60 batchai-launch --local 2 -n 4 -- "$@"; }

# MPICH 4.0.2 over UCX's TCP sometimes hangs in MPI_Finalize: one rank waits for progress of ranks that make none in the
# last barrier. It does so under its own mpiexec too.
two_nodes() {
    local said='' code=124
    for ((round = 0; round < 9 && code == 124; round++)); do
        code=0
        said=$(deadline=8 salloc --quiet -N2 batchai-launch "$@" 2>&1) || code=$?
    done
    printf '%s\n' "$said"
    return "$code"
}
slurm_launch() { two_nodes -n 4 -- "$@"; }

@test "an unmodified MPICH program starts on one machine" {
    all_are_fine 4 timeout -k 2 60 batchai-launch --local 1 -n 4 -- "$check" 4 4
}

@test "an unmodified MPICH program starts on one machine that plays two nodes" {
    all_are_fine 4 local_launch "$check" 4 2
}

@test "an unmodified MPICH program starts on one node of Slurm" {
    all_are_fine 4 salloc --quiet -N1 batchai-launch -n 4 -- "$check" 4 4
}

@test "an unmodified MPICH program starts on two nodes of Slurm" {
    all_are_fine 4 slurm_launch "$check" 4 2
}

@test "an unmodified MPICH program starts with different numbers of ranks on its nodes" {
    all_are_fine 3 two_nodes -n 3 -- sh -c "exec $check 3 \$LOCAL_WORLD_SIZE"
}

@test "a script of one rank may start MPICH programs one after the other" {
    run -0 timeout -k 2 60 batchai-launch --local 1 -n 1 -- sh -c "$check 1 1 && $check 1 1"
    [ "$(grep -c 'rank 0 of 1 is fine$' <<<"$output")" -eq 2 ]
}

@test "MPI_Abort in MPICH ends the job with its code and says so" {
    run -7 slurm_launch "$check" 4 2 abort 3 7
    [[ $output = *"batchai-launch: rank 3 on n2 aborted the job with code 7"* ]]
    [[ $output = *"application called MPI_Abort(MPI_COMM_WORLD, 7)"* ]]
    run -0 slurm_launch "$check" 4 2 abort 3 0 # as with mpiexec
    [[ $output = *"batchai-launch: rank 3 on n2 aborted the job with code 0"* ]]
    run -0 timeout -k 2 60 batchai-launch --local 1 -n 1 -- "$check" 1 1 abort 0 0
}

@test "a rank of MPICH that is killed before a barrier ends the job and is named" {
    # MPICH's other ranks may notice it first and exit with 15. Then they count as the first failure.
    for ((round = 0; round < 5; ++round)); do
        run slurm_launch "$check" 4 2 killed 2
        [ "$status" -eq 15 ] || break
    done
    [ "$status" -eq 137 ]
    [[ $output = *"batchai-launch: rank 2 on n2 was killed by signal 9 (SIGKILL)"* ]]
}

@test "a rank of MPICH that leaves while others are in MPI_Finalize ends the job and is named" {
    for ((round = 0; round < 5; ++round)); do  # as above
        run slurm_launch "$check" 4 2 leave 1 0
        [ "$status" -eq 15 ] || break
    done
    [ "$status" -eq 1 ]
    [[ $output = *"batchai-launch: rank 1 on n1 ended with code 0 while others wait for it"* ]]
}

@test "an MPICH program started by mpiexec inside our job does not find our leftovers" {
    export check
    # shellcheck disable=SC2016 # expanded by the rank, and by what mpiexec starts
    all_are_fine 4 timeout -k 2 60 batchai-launch --local 1 -n 2 -- sh -c '[ "$RANK" = 1 ] ||
        mpiexec.mpich -n 4 sh -c "OMPI_COMM_WORLD_RANK=\$PMI_RANK exec $check 4 4"'
}

@test "a program that a single rank starts where it cannot reach our server is not kept from starting without it" {
    need_root
    run timeout -k 2 60 batchai-launch --local 1 -n 1 -- sh -c "$check 1 1 &&
        unshare -n env -u PMI_PORT -u PMIX_NAMESPACE -u PMIX_RANK -u PMIX_VERSION $check 1 1"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'rank 0 of 1 is fine$' <<<"$output")" -eq 2 ]
}
