#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2 -g 1
#
# The harness itself: what assert_clean would find, and that tests get what README.md promises.

load lib

# only TEXT: the leftovers are exactly one, and it starts so.
only() {
    local all
    all=$(leftovers)
    [[ $all == "$1"* && $all != *$'\n'* ]] || { echo "found: $all" && return 1; }
}

# found TEXT: the same, soon: for a moment, a child of the test that has just ended is a process too.
found() { eventually only "$1"; }

@test "a mount that stays on a node is found" {
    on_node n2 mount -t tmpfs tmpfs /mnt
    found "n2: mounted: tmpfs /mnt"
    on_node n2 umount /mnt
}

@test "a namespace that stays pinned on a node is found" {
    on_node n1 sh -c 'mkdir -p /run/batchai/jobs; touch /run/batchai/jobs/7; mount --bind /proc/self/ns/uts /run/batchai/jobs/7'
    [[ $(leftovers) == *"n1: mounted: nsfs /run/batchai/jobs/7"* ]]
    on_node n1 umount /run/batchai/jobs/7
    found "n1: on disk: /run/batchai/jobs/7"
    on_node n1 rm /run/batchai/jobs/7
}

@test "a process that stays on a node is found" {
    srun -w n1 sh -c 'setsid sleep 987 >/dev/null 2>&1 & echo $! >/run/minislurm/tmp/pid'
    only_the_sleep() { only "running: " && [[ $(leftovers) == *"sleep 987" ]]; }
    eventually only_the_sleep
    on_node n1 kill "$(cat "$TMPDIR/pid")"
}

@test "a file that stays in /tmp or /dev/shm of a node is found" {
    on_node n1 touch /tmp/left
    found "n1: on disk: /tmp/left"
    on_node n1 rm /tmp/left
    on_node n2 touch /dev/shm/left
    found "n2: on disk: /dev/shm/left"
    on_node n2 rm /dev/shm/left
}

@test "a job that stays in the queue is found" {
    # shellcheck disable=SC2154 # job is set by submit
    submit --hold --output=/dev/null --wrap true
    found "in the queue: job $job PENDING JobHeldUser"
    scancel "$job"
}

@test "a drained node is found" {
    scontrol update NodeName=n2 State=DRAIN Reason=test
    found "drained: n2: test"
    scontrol update NodeName=n2 State=RESUME
}

@test "alice, root and all nodes share a test's directory" {
    mkdir -m 777 "$BATS_TEST_TMPDIR/out"
    as_user alice srun -w n2 touch "$BATS_TEST_TMPDIR/out/made"
    [ "$(stat -c %U "$BATS_TEST_TMPDIR/out/made")" = alice ]
}

@test "a job's end, state and fields are told" {
    submit --output=/dev/null --comment=noted --wrap 'exit 3'
    [ "$(wait_job "$job")" = FAILED ]
    [ "$(job_field "$job" ExitCode)" = 3:0 ]
    [ "$(job_field "$job" Comment)" = noted ]
}
