#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai-launch with many agents: a tree of them carries the fences.
# minislurm: -n 4
#
# shellcheck disable=SC2154 # status and output are set by run

load lib

setup() {
    check=$BATCHAI_BUILD/tests/peers/pmix_check
    pmi1_check=$BATCHAI_SOURCE/tests/peers/pmi1_check.bash
}

# A chain of two and a half levels: root: 0 1; 0: 2 3; 1: 4 5; 2: 6.
seven_nodes() { timeout -k 2 60 batchai-launch --local 7 --radix 2 "$@"; }
fine() { [ "$(grep -c ' is fine$' <<<"$output")" -eq "$1" ]; }

@test "64 agents of 4 ranks each start, meet and end, and so do 16 of 16" {
    deadline=120
    for shape in "64 4" "16 16"; do
        read -r agents ranks <<<"$shape"
        run -0 timeout -k 2 100 batchai-launch --local "$agents" --ranks-per-node "$ranks" "$check" fences 3 0
        fine 256
    done
}

@test "each rank's data of a fence reaches all others, in PMIx and in PMI-1" {
    run -0 seven_nodes --ranks-per-node 2 "$check" exchange
    fine 14
    run -0 seven_nodes --ranks-per-node 2 "$pmi1_check" exchange
    fine 14
}

@test "data of a fence that does not fit into one piece reaches all ranks" {
    run -0 seven_nodes "$check" fences 3 100000
    fine 7
}

@test "nodes without ranks pass on the data of other nodes" {
    run -0 seven_nodes -n 3 "$check" exchange
    fine 3
}

@test "nodes of Slurm make a tree too" {
    run -0 salloc --quiet -N4 batchai-launch --radix 2 -n 8 "$check" exchange
    fine 8
}

@test "a rank that leaves before a fence ends the job and is named, at the top and at the end of a branch" {
    for rank in 0 6; do
        run -1 seven_nodes --ranks-per-node 1 "$check" absent $rank 0
        [[ $output = *"batchai-launch: rank $rank on "*" ended with code 0 while others wait for it"* ]]
        run -5 seven_nodes --ranks-per-node 1 "$check" absent $rank 5
        [[ $output = *"batchai-launch: rank $rank on "*" exited with code 5"* ]]
    done
}

@test "a fence that waits is reported to wait for the late node, not for nodes behind or before it" {
    local out=$BATS_TEST_TMPDIR/out
    # shellcheck disable=SC2016 # expanded by the rank
    timeout -k 2 60 batchai-launch --local 7 --radix 2 --timeout 3 --ranks-per-node 1 \
        sh -c '[ $RANK = 4 ] && exec sleep 300; exec '"$check fences 1 0" >"$out" 2>&1 || status=$?
    [ "$status" -eq 124 ]
    grep -q '^batchai-launch: a fence (start-up, barrier or end) waits for ranks on [^ ]*4$' "$out"
}

@test "an agent that is killed in the middle of a branch ends the job and is named" {
    local out=$BATS_TEST_TMPDIR/out node
    for node in n1 n3; do # with children, and at an end
        salloc --quiet -N4 batchai-launch --radix 2 -n 4 "$check" absent 9 0 >"$out" 2>&1 &
        eventually on_node n4 pgrep -f 'pmix_check absent [9]'
        on_node $node sh -c 'kill -9 $(pgrep -f "batchai-launch --[a]gent" | tail -n 1)'
        status=0
        wait $! || status=$?
        [ "$status" -eq 125 ]
        grep -qx "batchai-launch: the agent on $node died of SIGKILL" "$out"
    done
}
