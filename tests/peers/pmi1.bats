#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2

load ../cluster/lib

setup() { check=$BATCHAI_SOURCE/tests/peers/pmi1_check.bash; }

launch() { salloc --quiet -N2 batchai-launch -n 4 -- "$@"; }
on_one_node() { timeout -k 2 60 batchai-launch --local 1 -n 4 -- "$@"; }

@test "all ranks get a value that one rank puts in PMI-1 after a barrier" {
    all_are_fine 4 launch "$check" exchange
}

@test "PMIx and PMI-1 do not meet, one after the other or at once" {
    local pmix=$BATCHAI_BUILD/tests/peers/pmix_check
    for both in '&& ' '& '; do
        run -0 launch sh -c "$pmix exchange $both$check exchange && wait"
        [ "$(grep -c 'of 4 is fine$' <<<"$output")" -eq 8 ]
    done
}

@test "a rank that asks for new processes through PMI-1 gets an error, and does not leave the others waiting" {
    all_are_fine 4 launch "$check" say 3 $'mcmd=spawn\nnprocs=1\nexecname=true\ntotspawns=1\nspawnssofar=1\nendcmd'
    [[ $output = *"cmd=spawn_result rc=-1 "* ]]
    [[ $output != *"batchai-launch: "* ]]
}

@test "a rank inherits its own connection to PMI-1 and no other" {
    # shellcheck disable=SC2016 # expanded by the rank
    all_are_fine 4 launch sh -c '[ "$(find /proc/$$/fd -lname "socket:*")" = "/proc/$$/fd/$PMI_FD" ] && echo "rank of 4 is fine"'
}

# MPICH 5 starts in no other way: it neither chooses between PMI-1 and PMIx, nor starts without a server.
@test "the only rank of a job has PMI-1, and each program that it starts is a job of its own" {
    # shellcheck disable=SC2016 # expanded by the rank's shell
    for launch in "timeout -k 2 60 batchai-launch --local 1" "salloc --quiet -N1 batchai-launch"; do
        run $launch -n 1 -- bash -c '[ "$MPIR_CVAR_PMI_VERSION" = 1 ] && [ -z "${PMI_FD-}" ] &&
            "$0" exchange && { "$0" exchange & "$0" exchange; wait $!; } && "$0" abort 0 3 && "$0" leave 0 0 &&
            "$0" exchange' "$check"
        [ "$status" -eq 0 ]
        [ "$(grep -c 'rank 0 of 1 is fine$' <<<"$output")" -eq 4 ]
    done
}

@test "a rank that leaves before a barrier ends the job and is named, wherever the others are" {
    run -1 launch "$check" leave 3 0
    [[ $output = *"batchai-launch: rank 3 on n2 ended with code 0 while others wait for it"* ]]
    run -1 on_one_node "$check" leave 2 0
    [[ $output = *"batchai-launch: rank 2 on "*" ended with code 0 while others wait for it"* ]]
    run -6 on_one_node "$check" leave 2 6
    [[ $output = *"batchai-launch: rank 2 on "*" exited with code 6"* ]]
}

@test "a rank that never speaks PMI-1 while others wait in it ends the job and is named" {
    run -1 launch "$check" silent 1 0
    [[ $output = *"batchai-launch: rank 1 on n1 ended with code 0 while others wait for it"* ]]
    run -1 on_one_node "$check" silent 0 0
    [[ $output = *"batchai-launch: rank 0 on "*" ended with code 0 while others wait for it"* ]]
}

@test "a rank's abort in PMI-1 ends the job with its code, though it exits right after it" {
    local rounds=$(often 200 3)
    for ((round = 0; round < rounds; round++)); do
        run -4 on_one_node "$check" abort 2 4
        [[ $output = *"batchai-launch: rank 2 on "*" aborted the job with code 4"* ]]
    done
}

@test "a request that we do not know gets an error, and the job goes on" {
    run -0 launch "$check" say 2 'cmd=publish_name service=a port=b'
    [[ $output = *"rc=-1 msg=not_supported"* ]]
    [ "$(grep -c 'of 4 is fine$' <<<"$output")" -eq 4 ]
}

@test "a rank that does not speak PMI-1 on its connection ends the job and is named" {
    run -1 launch "$check" say 2 "$(printf '%05000d' 0)"
    [[ $output = *"batchai-launch: rank 2 on n2 aborted the job with code 1: broke the protocol of PMI-1: a line of over 4096 bytes"* ]]
    run -1 launch "$check" say 2 "hello"
    [[ $output = *"broke the protocol of PMI-1: a line that is not a command"* ]]
}
