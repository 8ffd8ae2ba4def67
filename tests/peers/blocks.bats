#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 4
#
# The collective library: blocks for each rank, and communicators of some ranks. blocks_check.c says what each
# mode does.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib
load ranks

setup() {
    check=$BATCHAI_BUILD/tests/peers/blocks_check
    deadline=60
}

@test "blocks of any lengths arrive where they should, on nodes of any number of ranks" {
    all_fine local_launch 1 1 "$check" blocks
    all_fine local_launch 1 4 "$check" blocks
    all_fine local_launch 3 5 "$check" blocks
    all_fine slurm_launch 4 7 "$check" blocks
}

@test "a rank that sends more than another one expects is an error that names both, on all ranks" {
    for layout in "local_launch 1 3" "local_launch 2 3" "slurm_launch 4 7"; do
        # shellcheck disable=SC2086 # words
        all_fine $layout "$check" lengths
        ranks=${layout##* }
        sentence="operation 3: ranks disagree: rank $((ranks - 1)) sends 11 elements to rank 0, which expects 10"
        [ "$(grep -c ": collectives: $sentence\$" <<<"$output")" -eq "$ranks" ]
    done
}

@test "some of the ranks have communicators of their own, which work beside that of all" {
    all_fine local_launch 1 3 "$check" split
    all_fine local_launch 2 4 "$check" split
    all_fine slurm_launch 4 7 "$check" split
}

@test "invalid arguments are refused, and the communicator still works" {
    all_fine slurm_launch 2 3 "$check" arguments
}
