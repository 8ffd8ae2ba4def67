#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2

load ../cluster/lib

setup() {
    /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || skip "python3-torch is not installed"
    tell_torch_of_libuv /usr/bin/python3
    check="/usr/bin/python3 $BATCHAI_SOURCE/tests/peers/torch_check.py"
}

@test "a torch.distributed script starts on one machine that plays two nodes" {
    # shellcheck disable=SC2086 # words
    all_are_fine 4 timeout -k 2 100 batchai-launch --local 2 -n 4 -- $check
}

@test "a torch.distributed script starts on two nodes of Slurm" {
    # shellcheck disable=SC2086 # words
    deadline=100 all_are_fine 4 salloc --quiet -N2 batchai-launch -n 4 -- $check
}
