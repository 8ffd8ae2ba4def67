#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# The backend batchai of torch.distributed, with PyTorch from PyPI where environments.sh has fetched it, and the hook for
# DistributedDataParallel with Debian's.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib

setup() {
    export OMP_NUM_THREADS=1
    check=$BATCHAI_SOURCE/tests/peers/torch_backend_check.py
}

need_debian() {
    /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || skip "python3-torch is not installed"
    tell_torch_of_libuv /usr/bin/python3
}
need_newest() { peer_python torch; }

@test "a torch.distributed script needs no other change than the backend's name" {
    need_newest
    all_are_fine 4 timeout -k 2 120 batchai-launch --local 2 -n 4 -- "$python" "$check"
}

@test "DDP over Gloo gets the library's allreduces by a hook, also in torch 1.13" {
    need_debian
    all_are_fine 2 timeout -k 2 120 batchai-launch --local 1 -n 2 -- /usr/bin/python3 "$check" hook
}

@test "a torch in which the backend would hang is refused" {
    need_debian
    version=$(/usr/bin/python3 -c 'import torch; print(torch.__version__)')
    [[ $version = 1.* ]] || skip "torch $version has all that the backend needs"
    run ! timeout -k 2 120 batchai-launch --local 1 -n 2 -- /usr/bin/python3 "$check"
    [[ $output = *"the backend needs torch 2.0 or later"* ]]
}

# The refusal comes before anything that torch 1.13 lacks.
@test "a torchrun in each rank, which knows one process, does not train alone" {
    need_debian
    script='import torch; torch.__version__ = "2.0"; import horovod.torch.distributed
torch.distributed.init_process_group("batchai")'
    # shellcheck disable=SC2016 # expanded by the rank's shell
    run timeout -k 2 120 batchai-launch --local 1 -n 2 -- sh -c 'export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((MASTER_PORT + 1 + RANK)) \
        TORCHELASTIC_RUN_ID=none RANK=0 WORLD_SIZE=1; exec /usr/bin/python3 -c "$0"' "$script"
    [ "$status" -ne 0 ]
    [[ $output = *"batchai: torchrun made this process 0 of 1; batchai-launch knows rank "[01]" of 2: use one of them"* ]]
}
