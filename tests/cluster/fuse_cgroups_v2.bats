#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Commands that a FUSE program runs for a user, in jobs that Slurm tracks by cgroup v2.
# minislurm: -n 1 -s ProctrackType=proctrack/cgroup -s TaskPlugin=task/cgroup -s SelectTypeParameters=CR_Core_Memory -c CgroupPlugin=cgroup/v2 -c IgnoreSystemd=yes -c ConstrainRAMSpace=yes
# needs: fuse
# guest: --cgroup 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in fuse_commands.bash and plugin.bash

load fuse_commands

setup_file() {
    make_images
    commands_entry >"$MINISLURM_DIR/batchai.toml"
}

setup() { enter_work; }
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    cd /
    forget_outputs
    eventually no_cgroup
    assert_clean
}
# Slurm 22.05 itself may leave a step's cgroup behind, where two short steps follow each other.
no_cgroup() { [ -z "$(find /sys/fs/cgroup -type d \( -name batchai -o -name 'job_*' -links 2 \))" ]; }

file=/run/batchai/mnt/data/file

@test "a mount of a user's program outlives the step that has made it, in the job's cgroup" {
    own_commands 'cat /proc/self/cgroup >cgroup'
    write_script steps.sh "srun -Q cat $file" "srun -Q cat $file" 'touch started' 'while [ ! -e go ]; do sleep 0.1; done'
    as_alice salloc -Q -N 1 --mem=100M --batchai-mount="$image:data" bash steps.sh >out 2>&1 3>&- &
    salloc=$!
    eventually test -e started
    [ "$(cat out)" = $'squashed\nsquashed' ]
    grep -x '0::/system.slice/n1_slurmstepd.scope/job_[0-9]*/batchai' cgroup
    [ "$(sed 's,^0::,/sys/fs/cgroup,; s,$,/cgroup.procs,' cgroup | xargs cat)" = "$(daemons)" ]
    : >go
    wait "$salloc"
}

@test "a command of a user's configuration gets no more memory than its job" {
    assert_memory_is_the_jobs
}

@test "a fork bomb of a user's configuration ends with the job, cancelled or not" {
    own_commands 'bomb() { touch bombed; bomb & bomb & wait; }' 'bomb 2>/dev/null &'
    submit_alice -N 1 --mem=64M -o out --batchai-mount="$image:data" --wrap 'sleep 1'
    wait_job "$job"
    rm bombed
    submit_alice -N 1 --mem=64M -o out --batchai-mount="$image:data" --wrap 'sleep 1000'
    eventually test -e bombed
    sleep 1
    scancel "$job"
    wait_job "$job"
}
