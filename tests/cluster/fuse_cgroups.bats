#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# FUSE programs, if Slurm ends all processes of a step's cgroup and limits those of a job's (version 1).
# minislurm: -n 1 -s ProctrackType=proctrack/cgroup -s TaskPlugin=task/cgroup -s SelectTypeParameters=CR_Core_Memory -c CgroupPlugin=cgroup/v1 -c CgroupAutomount=yes -c ConstrainRAMSpace=yes -c ConstrainCores=yes
# needs: root fuse clients smb freezer
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in fuse.bash and plugin.bash

load fuse_commands

setup_file() {
    make_fuse_site
    make_images
    commands_entry >>"$MINISLURM_DIR/batchai.toml"
    start_servers
}

setup() {
    enter_work
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    cd /
    forget_outputs
    eventually no_cgroup
    assert_clean
}

# What Slurm itself leaves  behind: empty ones of the node.
teardown_file() { rmdir /sys/fs/cgroup/*/slurm_n1 2>/dev/null || true; }

# Ours, or one of a job or a user with nothing in it.
no_cgroup() {
    [ -z "$(find /sys/fs/cgroup -path '*/slurm_n1/*' -type d \( -name batchai -o -name '[ju][oi][bd]_*' -links 2 \))" ]
}

# The cgroups of process PID, in each hierarchy that Slurm uses.
cgroups_of() { grep -E 'slurm|batchai' "/proc/$1/cgroup" | cut -d: -f3; }

@test "a mount outlives the step that has made it where Slurm ends a step's cgroup" {
    cat >steps.sh <<'SH'
srun -N 1 sh -c 'echo first >$AZ_BATCHAI_JOB_MOUNT_ROOT/data/file; grep -c uid_2001/job_ /proc/self/cgroup'
sleep 1
srun -N 1 cat '/run/batchai/mnt/data/file'
touch started
while [ ! -e go ]; do sleep 0.1; done
SH
    as_alice salloc -Q -N 1 --mem=256M --batchai-mount="volume=sshfs:data,volume=s3fs:s3" bash steps.sh >out 2>&1 3>&- &
    salloc=$!
    eventually test -e started
    [ "$(daemons | wc -l)" = 2 ]
    for pid in $(daemons); do
        cgroups_of "$pid" | tee cgroups
        [ "$(wc -l <cgroups)" = 3 ] # freezer, memory, cpuset
        ! grep -vxE '.*/uid_2001/job_[0-9]+/batchai' cgroups || false
    done
    : >go
    wait "$salloc"
    [ "$(tail -n 1 out)" = first ]
    [ "$(head -n 1 out)" -gt 0 ]
}

@test "the cgroups of a job are gone with it, though its programs outlive its steps" {
    submit_alice -N 1 --mem=256M -o out --batchai-mount="volume=sshfs:data" --wrap 'touch started; sleep 1000'
    eventually test -e started
    find /sys/fs/cgroup -path "*/slurm_n1/uid_2001/job_$job/batchai" | grep -q .
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}

@test "a command of a user's configuration gets no more memory than its job" {
    assert_memory_is_the_jobs
}

@test "a command of a user's configuration leaves no file of a group that is not the user's" {
    own_commands 'cp /bin/sh shell; chmod 2755 shell; mkdir folder; chmod 2777 folder; touch folder/file' 'id -G >groups'
    submit_alice -N 1 --mem=128M -o out --batchai-mount="$image:data" --wrap 'id -G >groups_of_job'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(stat -c %a shell)" = 2755 ]
    find . -printf '%p %g\n'
    [ -z "$(find . ! -user root ! -group alice)" ]
    cmp groups groups_of_job
}
