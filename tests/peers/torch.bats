#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2

load ../cluster/lib

setup() {
    /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || skip "python3-torch is not installed"
    tell_torch_of_libuv /usr/bin/python3
    check="/usr/bin/python3 $BATCHAI_SOURCE/tests/peers/torch_check.py"
}

# shellcheck disable=SC2154 # output is set by run
all_fine() { [ "$(grep -c 'of 4 is fine$' <<<"$output")" -eq 4 ]; }

@test "a torch.distributed script starts on one machine that plays two nodes" {
    # shellcheck disable=SC2086 # words
    run timeout -k 2 100 batchai-launch --local 2 -n 4 -- $check
    [ "$status" -eq 0 ]
    all_fine
}

@test "a torch.distributed script starts on two nodes of Slurm" {
    # shellcheck disable=SC2086 # words
    deadline=100 run salloc --quiet -N2 batchai-launch -n 4 -- $check
    [ "$status" -eq 0 ]
    all_fine
}
