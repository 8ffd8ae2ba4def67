#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 4
#
# The collective library, rank by rank: collectives_check.c says what each mode does.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib
load ranks

setup() {
    check=$BATCHAI_BUILD/tests/peers/collectives_check
    rounds=$(often 100)
    deadline=60
}

@test "every rank knows its place and its node's, also where nodes have different numbers of ranks" {
    all_fine slurm_launch 4 7 "$check" places
    for line in "0 of 7: local rank 0 of 2, node 0" "1 of 7: local rank 1 of 2, node 0" \
        "5 of 7: local rank 1 of 2, node 2" "6 of 7: local rank 0 of 1, node 3"; do
        grep -qx "rank $line of 4" <<<"$output"
    done
}

@test "every operation is right for every type and count on one node" {
    all_fine slurm_launch 1 4 "$check" matrix
}

@test "every operation is right for every type and count on four nodes" {
    all_fine slurm_launch 4 4 "$check" matrix
}

@test "every operation is right for every type and count on nodes with different numbers of ranks" {
    all_fine slurm_launch 2 5 "$check" matrix
}

@test "every operation is right for every type and count on a machine that plays three nodes" {
    all_fine local_launch 3 4 "$check" matrix
}

@test "every operation is right for every type and count in a process without a launcher" {
    run -0 timeout -k 2 60 "$check" matrix
    fine 1
}

@test "other PMIx launchers start the same program" {
    run -0 srun -Q -N2 -n3 --mpi=pmix "$check" again
    fine 3
}

@test "a message may be larger than 2^31 bytes" {
    all_fine slurm_launch 2 3 "$check" large
}

@test "operations may be under way at once and waited for in any order" {
    for ((round = 0; round < rounds; ++round)); do
        all_fine local_launch 1 3 "$check" async
        all_fine slurm_launch 4 7 "$check" async
    done
}

@test "init may follow finalize" {
    for ((round = 0; round < rounds; ++round)); do
        all_fine local_launch 1 3 "$check" again
        all_fine slurm_launch 4 7 "$check" again
    done
}

# shellcheck disable=SC2016 # expanded by the rank's shell
@test "init fails on all ranks when it fails on one, and all say why" {
    for layout in "local_launch 1 3" "slurm_launch 4 7"; do
        # shellcheck disable=SC2086 # words
        run -0 $layout sh -c '[ $RANK != 1 ] || export BATCHAI_COLL_TIMEOUT=soon; "$0" places || :' "$check"
        [ "$(grep -c "init: .*BATCHAI_COLL_TIMEOUT: 'soon' is not a number of seconds" <<<"$output")" -eq "${layout##* }" ]
        fine 0
    done
}

@test "a sum has the same bits whatever message it is a part of" {
    all_fine local_launch 1 3 "$check" bits
    all_fine local_launch 3 4 "$check" bits
    all_fine slurm_launch 4 7 "$check" bits
}

# UCX cuts what it sends at a limit of its own, which is half a chunk unless it is told otherwise.
@test "a chunk is given to TCP in one piece" {
    strace -o /dev/null true || skip "needs strace, and its being permitted"
    [[ $(pkg-config --modversion ucx) = 1.13.* ]] || skip "newer UCX copies and cuts a chunk by rules of its own"
    local calls=$BATS_TEST_TMPDIR/calls
    for limit in "" 64k; do
        [ -z "$limit" ] || export UCX_TCP_RX_SEG_SIZE=$limit
        all_fine local_launch 2 2 strace -ff -e trace=sendmsg -e signal=none -o "$calls$limit" "$check" bits
    done
    grep -q 'iov_len=131072}' "$calls".*
    run ! grep -q 'iov_len=131072}' "$calls"64k.*
}

@test "invalid arguments are refused, and the communicator still works" {
    all_fine slurm_launch 2 3 "$check" arguments
}

@test "ranks that call different things are all told so, on one node" {
    for kind in count type op factor kind root missing; do
        all_fine slurm_launch 1 3 "$check" mismatch "$kind"
        [ "$(grep -c ': collectives: operation 2: ranks disagree: .*rank 2 calls ' <<<"$output")" -eq 3 ]
    done
}

@test "ranks that call different things are all told so, on several nodes" {
    for kind in count type op factor kind root missing; do
        all_fine slurm_launch 4 7 "$check" mismatch "$kind"
        [ "$(grep -c ': collectives: operation 2: ranks disagree: .*rank 6 calls ' <<<"$output")" -eq 7 ]
    done
}

# The launcher would end a job in which a rank fails, so the rank's shell hides the failure.
# shellcheck disable=SC2016 # expanded by the rank's shell
@test "all others are told when a rank is killed" {
    for ((round = 0; round < rounds; ++round)); do
        for layout in "local_launch 1 3" "local_launch 2 4" "slurm_launch 4 7"; do
            # shellcheck disable=SC2086 # words
            run -0 $layout sh -c '[ $RANK != 1 ] || exec 2>/dev/null; "$0" killed 1 || [ $RANK = 1 ]' "$check"
            others=$((${layout##* } - 1))
            [ "$(grep -cE ': (rank 1 .* has ended|lost the connection to rank 1: .*); waiting: ' <<<"$output")" -eq $others ]
            fine $others
        done
    done
}

@test "all others are told when a rank leaves" {
    for ((round = 0; round < rounds; ++round)); do
        for layout in "local_launch 1 3" "local_launch 2 4" "slurm_launch 4 7"; do
            # shellcheck disable=SC2086 # words
            run -0 $layout "$check" left 2
            others=$((${layout##* } - 1))
            [ "$(grep -cE ': (rank 2 .* has ended|lost the connection to rank 2: .*); waiting: ' <<<"$output")" -eq $others ]
            fine $others
        done
    done
}

@test "all ranks are told when one does not arrive in time" {
    export BATCHAI_COLL_TIMEOUT=1
    for layout in "local_launch 1 3" "slurm_launch 4 7"; do
        # shellcheck disable=SC2086 # words
        all_fine $layout "$check" late 1
        [ "$(grep -c ': rank 1 did not arrive within 1 s;' <<<"$output")" -eq "${layout##* }" ]
    done
}

@test "the example of docs/collectives.md compiles and runs" {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR"
    sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/docs/collectives.md" >example.c
    cc -Wall -Wextra -Werror -I"$root/collectives/include" example.c -o example \
        -L"$BATCHAI_BUILD/lib" -lbatchai_collectives -Wl,-rpath,"$BATCHAI_BUILD/lib"
    run local_launch 1 2 ./example
    [ "$status" -eq 0 ]
    grep -qx "rank 0 of 2: the average is 0.5" <<<"$output"
    grep -qx "rank 1 of 2: the average is 0.5" <<<"$output"
}
