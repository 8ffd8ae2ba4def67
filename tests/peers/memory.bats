#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# The collective library: memory that the ranks of a node can address of each other. memory_check.c says what each
# mode does.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib
load ranks

setup() {
    check=$BATCHAI_BUILD/tests/peers/memory_check
    deadline=60
}

@test "results are the same bit by bit, whichever ranks' buffers all can address" {
    all_fine local_launch 1 1 "$check" bits
    all_fine local_launch 1 2 "$check" bits
    all_fine local_launch 1 4 "$check" bits
    all_fine local_launch 3 4 "$check" bits
    all_fine slurm_launch 2 5 "$check" bits
}

@test "results of messages longer than the caches are the same bit by bit" {
    all_fine local_launch 1 2 "$check" long
    all_fine local_launch 1 3 "$check" long
    all_fine local_launch 2 4 "$check" long
}

@test "invalid arguments and more memory than a rank has are refused, and the communicator still works" {
    all_fine local_launch 1 3 "$check" refused
    all_fine slurm_launch 2 3 "$check" refused
}

# There ranks cannot open each other's descriptors.
@test "ranks in user namespaces of their own have it as well" {
    all_fine local_launch 1 3 unshare -Ur "$check" bits
}

@test "a rank whose process is not dumpable is named, with what to do" {
    local user=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
    cd / || return
    run -0 timeout -k 2 "$deadline" "${user[@]}" batchai-launch --local 1 -n 3 -- "$check" hidden
    fine 3
}

@test "all ranks are told when one calls something else" {
    for layout in "local_launch 1 3" "slurm_launch 2 3"; do
        # shellcheck disable=SC2086 # words
        all_fine $layout "$check" mismatch
    done
}

# The launcher would end a job in which a rank fails, so the rank's shell hides the failure.
# shellcheck disable=SC2016 # expanded by the rank's shell
@test "all others are told when a rank is killed" {
    for layout in "local_launch 1 3" "slurm_launch 2 4"; do
        # shellcheck disable=SC2086 # words
        run -0 $layout sh -c '[ $RANK != 1 ] || exec 2>/dev/null; "$0" killed || [ $RANK = 1 ]' "$check"
        fine $((${layout##* } - 1))
    done
}
