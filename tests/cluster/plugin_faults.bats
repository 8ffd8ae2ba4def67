#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Failures of the machines under a job: disks, daemons, power. Nothing of the job is left.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

rounds=$(often 20 2)

@test "a full disk under the logs fails the job with one line" {
    need_root
    mkdir -p full
    for ((round = 0; round < rounds; round++)); do
        for node in n1 n2; do
            on_node "$node" sh -c "mount -t tmpfs -o size=64k,mode=777 tmpfs $work/full && head -c 65536 /dev/zero >$work/full/file; true"
        done
        submit_alice -N 2 -o out --batchai-output="$work/full" --batchai-prep='echo hello' --wrap 'touch started'
        state=$(wait_job "$job")
        for node in n1 n2; do on_node "$node" umount "$work/full"; done
        [ "$state" = FAILED ]
        [[ $(one_line out) == "batchai: n"*": job preparation: its logs cannot be written: $work/full/"*": No space left on device" ]]
        [ ! -e started ]
    done
}

@test "a read-only output directory fails the job with one line" {
    need_root
    mkdir -p logs
    for ((round = 0; round < rounds; round++)); do
        for node in n1 n2; do on_node "$node" mount -t tmpfs -o ro tmpfs "$work/logs"; done
        submit_alice -N 2 -o out --batchai-output="$work/logs" --batchai-prep='echo hello' --wrap 'touch started'
        state=$(wait_job "$job")
        for node in n1 n2; do on_node "$node" umount "$work/logs"; done
        [ "$state" = FAILED ]
        [[ $(one_line out) == "batchai: n"*"Read-only file system"* ]]
        [ ! -e started ]
    done
}

@test "a full disk where the job's temporary directory is fails the job with one line" {
    need_root
    make_site
    printf '[paths]\njob_temp = "/mnt"\n' | cat - "$MINISLURM_DIR/batchai.toml" >toml && cat toml >"$MINISLURM_DIR/batchai.toml"
    for ((round = 0; round < rounds; round++)); do
        on_node n1 mount -t tmpfs -o nr_inodes=1,mode=1777 tmpfs /mnt
        submit_alice -N 1 -w n1 -o out --batchai-mount="$data:a:ro" --wrap 'touch started'
        state=$(wait_job "$job")
        on_node n1 umount /mnt
        [ "$state" = FAILED ] || break
        [[ $(one_line out) == "batchai: n1: /mnt/batchai-$job-"*": No space left on device" ]] || break
    done
    make_site
    [ "$round" = "$rounds" ]
    [ ! -e started ]
}

@test "a full /run fails a set-up with one line; a job that runs goes on, and its end too" {
    need_root
    on_node n1 sh -c 'mkdir -p -m 711 /run/batchai && mount -t tmpfs -o size=64k,mode=711 tmpfs /run/batchai && mount --make-private /run/batchai'
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done' 'srun cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
    submit_alice -N 1 -n 1 -w n1 -o out --batchai-mount="$data:a:ro" --batchai-prep=true job.sh
    running=$job
    eventually test -e started
    on_node n1 sh -c 'cat /dev/zero >/run/batchai/filler 2>/dev/null; true'
    submit_alice -N 1 -n 1 -w n1 -o refused --batchai-mount="$data:a:ro" --wrap 'touch refused.started'
    refused=$(wait_job "$job")
    touch go
    state=$(wait_job "$running")
    eventually on_node n1 sh -c '! ls /run/batchai/jobs | grep .'
    on_node n1 umount /run/batchai
    [ "$refused" = FAILED ]
    [ "$(one_line refused)" = "batchai: n1: /run/batchai/jobs/mini-$job/new: write: No space left on device" ]
    [ ! -e refused.started ]
    [ "$state" = COMPLETED ]
    [ "$(cat out)" = data ]
}

@test "a job that ends while slurmd is dead is cleaned up when slurmd is back" {
    need_root
    for ((round = 0; round < rounds; round++)); do
        running_job
        # shellcheck disable=SC2046
        kill -9 $(on_node_named '^slurmd -N n1')
        scancel "$job"
        sleep 1
        on_node n1 slurmd -N n1
        eventually job_is_over "$job"
        assert_clean
    done
}

@test "a job goes on, with its mounts, where slurmd is started anew" {
    need_root
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done' 'srun cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
    for ((round = 0; round < rounds; round++)); do
        submit_alice -N 2 -o out --batchai-mount="$data:a:ro" --batchai-prep='echo prepared >>preparations' job.sh
        eventually test -e started
        # shellcheck disable=SC2046
        kill $(on_node_named '^slurmd -N n1')
        eventually no_slurmd_on_n1
        on_node n1 slurmd -N n1
        : >go
        [ "$(wait_job "$job")" = COMPLETED ]
        [ "$(cat out)" = $'data\ndata' ]
        [ "$(wc -l <preparations)" = 2 ]
        rm started go preparations
    done
}

no_slurmd_on_n1() { [ -z "$(on_node_named '^slurmd -N n1')" ]; }
