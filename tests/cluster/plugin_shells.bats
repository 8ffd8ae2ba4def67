#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A step from a shell without its job's options finds the job's mounts and preparation, or does not start.
# minislurm: -n 2 -s PrologFlags=contain
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

mounts="$data:a:ro"
look='cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
note='echo x >>prepared.$(hostname)'
# allocate OPTION...: a job without a shell; $job.
allocate() {
    job=$(as_alice salloc --no-shell "$@" 2>&1 | sed -n 's/.*Granted job allocation //p')
    [ -n "$job" ]
}

# attached COMMAND...: a step of $job from a shell without the job's options.
attached() { as_alice srun -Q --jobid "$job" --overlap "$@" 2>&1; }

# What the prolog noted on the node, if anything.
noted_on() { on_node "$1" sh -c '! [ -d /run/batchai/asked ] || ls /run/batchai/asked'; }

@test "a step from another shell does not start on a node that is not prepared" {
    allocate -N 2 --batchai-mount="$mounts"
    run attached -N 2 sh -c 'touch started'
    scancel "$job"
    [ "$status" != 0 ]
    [ ! -e started ]
    [[ $output =~ batchai:\ n[12]:\ job\ $job\ has\ --batchai-\*\ options\ that\ this\ shell\ does\ not\ know ]]
    assert_clean
    [ -z "$(noted_on n1)$(noted_on n2)" ]
}

@test "a step prepares the node of a job without a shell, and those after it find the mounts" {
    allocate -N 1 --batchai-mount="$mounts" --batchai-prep="$note"
    run attached --batchai-mount="$mounts" --batchai-prep="$note" sh -c "$look"
    [ "$output" = data ]
    run attached sh -c "$look"
    scancel "$job"
    [ "$output" = data ]
    [ "$(cat prepared.n1)" = x ]
}

@test "a step from a second terminal has the mounts of salloc's shell, and does not start on a node without them" {
    as_alice salloc -Q -N 2 --batchai-mount="$mounts" sh -c 'srun -N 1 -w n1 true; echo $SLURM_JOB_ID >number; until [ -e over ]; do sleep 0.1; done' &
    local holder=$!
    eventually test -s number
    job=$(cat number)
    run attached -N 1 -w n1 sh -c "$look"
    [ "$output" = data ]
    run ! attached -N 1 -w n2 sh -c 'touch started'
    [[ $output == *"batchai: n2: job $job has --batchai-* options"* ]]
    [ ! -e started ]
    touch over
    wait "$holder"
}

@test "where a job has an extern step slurmctld is asked nothing, and the mounts stay if that step crashes" {
    need_root
    write_script job.sh 'echo kept >$AZ_BATCHAI_JOB_MOUNT_ROOT/t/file' 'touch started' 'while [ ! -e go ]; do sleep 0.1; done' \
        'srun cat $AZ_BATCHAI_JOB_MOUNT_ROOT/t/file' 'touch "done"' 'while [ ! -e end ]; do sleep 0.1; done'
    before=$(questions)
    submit_alice -N 1 -w n1 -o out --batchai-mount=tmpfs:t job.sh
    eventually test -e started
    [ "$(questions)" = "$before" ]
    kill_all '^slurmstepd: .[0-9]+.extern'
    kill_all '^sleep 100000000' # that step's
    touch go
    eventually test -e "done"
    [ "$(cat out)" = kept ]
    [ "$(questions)" = $((before + 1)) ]
    touch end
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "a slow clock of the node fails a step whose job has lost its extern step, and removes nothing" {
    need_root
    write_script job.sh 'echo kept >$AZ_BATCHAI_JOB_MOUNT_ROOT/t/file' 'touch started' 'while [ ! -e go ]; do sleep 0.1; done' \
        'srun true 2>refusal || cat $AZ_BATCHAI_JOB_MOUNT_ROOT/t/file'
    submit_alice -N 1 -w n1 -o out --batchai-mount=tmpfs:t job.sh
    eventually test -e started
    kill_all '^slurmstepd: .[0-9]+.extern'
    kill_all '^sleep 100000000' # that step's
    on_node n1 sed -z -i "s/^made=.*/made=$(($(date +%s) - 100))/" "/run/batchai/jobs/mini-$job/state"
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = kept ]
    grep -qE "^batchai: n1: job $job was submitted [0-9]+ s after it was set up here, .*: synchronise the node's clock, " refusal
}

@test "a job without our options starts steps from another shell" {
    allocate -N 1
    run attached echo ran
    scancel "$job"
    [ "$output" = ran ]
}

@test "a prolog's note of another user's job, or of an earlier one, does not stop a job" {
    need_root
    # Numbers that have not been given out yet: another user's note is not heeded, one of an earlier job goes.
    allocate -N 1 -w n1
    scancel "$job"
    eventually queue_is_empty
    on_node n1 sh -c "mkdir -p -m 700 /run/batchai/asked; for i in \$(seq $job $((job + 3))); do touch /run/batchai/asked/mini-\$i; chown alice /run/batchai/asked/mini-\$i; done"
    allocate -N 1 -w n1
    run attached echo ran
    [ "$output" = ran ]
    on_node n1 touch "/run/batchai/asked/mini-$job" # root's
    run attached echo ran
    scancel "$job"
    [ "$output" = ran ]
    eventually queue_is_empty
    on_node n1 rm -r /run/batchai/asked
}

@test "a step from another shell does not start where a disk is full" {
    need_root
    on_node n1 sh -c 'mkdir -p -m 700 /run/batchai/asked && mount -t tmpfs -o size=4k,mode=700 full /run/batchai/asked && ! cat /dev/zero >/run/batchai/asked/filler' 2>/dev/null
    allocate -N 1 -w n1 --batchai-mount="$mounts"
    run attached sh -c 'touch started'
    scancel "$job"
    eventually queue_is_empty
    on_node n1 umount -l /run/batchai/asked
    [ "$status" != 0 ]
    [[ $output == *"batchai: n1: job $job has --batchai-* options"* ]]
    [ ! -e started ]
}
