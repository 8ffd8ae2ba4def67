#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A node loses power and boots again, or the plugin never learns of a job's end: nothing is left, and
# leftovers do not disturb later jobs.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() {
    need_root
    enter_work
}

rounds=$(often 20 2)

# power_off NODE: all its processes end at once, and what lay in memory is gone; what is on its disk stays, such
# as slurmd's spool. Slurm would find out after SlurmdTimeout.
power_off() {
    on_node "$1" sh -c 'kill -9 -1; umount -l /run/batchai; rm -rf /run/batchai'
    scontrol update NodeName="$1" State=DOWN Reason="power lost"
}
power_on() {
    on_node "$1" slurmd -b -N "$1"
    eventually registered "$1"
}
registered() {
    scontrol update NodeName="$1" State=RESUME
    [[ $(sinfo -h -n "$1" -o %T) =~ ^(idle|completing|mixed)$ ]]
}

# What a node's boot does where /tmp is in memory, or the site's tmpfiles.d says so.
empty_tmp() { on_node "$1" sh -c 'rm -rf /tmp/batchai-*'; }

@test "after a node loses power, no node has leftovers of its job" {
    for ((round = 0; round < rounds; round++)); do
        running_job --no-requeue
        power_off n1
        empty_tmp n1
        power_on n1
        [ "$(wait_job "$job")" = NODE_FAIL ]
        assert_clean
        as_alice srun -N 2 --batchai-mount="$data:a:ro" --batchai-prep=true true
    done
}

@test "a node that loses power during the preparation fails the job and leaves nothing" {
    for ((round = 0; round < rounds; round++)); do
        rm -f preparing.*
        submit_alice --no-requeue -N 2 -o out --batchai-mount="$data:a:ro" --batchai-prep='touch preparing.$(hostname); sleep 1000' --wrap 'touch started'
        eventually test -e preparing.n1 -a -e preparing.n2
        power_off n1
        empty_tmp n1
        power_on n1
        [ "$(wait_job "$job")" = NODE_FAIL ]
        [ ! -e started ]
        assert_clean
    done
}

@test "a job that a node's reboot has put back into the queue is set up again on all its nodes" {
    write_script job.sh 'touch started.${SLURM_RESTART_COUNT:-0}' '[ -e finish ] || sleep 1000' 'srun cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
    submit_alice -N 2 --requeue --open-mode=append -o out --batchai-mount="$data:a:ro" --batchai-prep='echo x >>prepared.$(hostname)' job.sh
    eventually test -e started.0
    touch finish
    power_off n1
    empty_tmp n1
    power_on n1
    sleep 2
    eventually runs_again started.1
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat prepared.n1)$(cat prepared.n2)" = $'x\nxx\nx' ]
    [ "$(tail -n 2 out)" = $'data\ndata' ]
}

@test "where /run is a disk, the notes of before a reboot are removed when slurmd starts" {
    for ((round = 0; round < rounds; round++)); do
        running_job --no-requeue
        # The mounts and the pinned namespace go with the power, the files stay.
        on_node n1 cp -a "/run/batchai/jobs/mini-$job/state" /tmp/state
        power_off n1
        on_node n1 sh -c "mkdir -m 711 /run/batchai && mkdir -m 700 -p /run/batchai/jobs/mini-$job && cd /run/batchai/jobs/mini-$job && mv /tmp/state . && touch namespace preparation"
        power_on n1
        [ "$(wait_job "$job")" = NODE_FAIL ]
        assert_clean
    done
}

@test "a job whose end the plugin missed is removed by hand" {
    running_job
    on_node n1 mount --bind /dev/null "$MINISLURM_DIR/etc/plugstack.conf"
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    eventually node_is_up n1
    on_node n1 umount "$MINISLURM_DIR/etc/plugstack.conf"
    on_node n1 batchai-helper teardown --job "mini-$job"
    assert_clean
}
