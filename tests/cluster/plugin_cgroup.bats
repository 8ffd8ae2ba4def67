#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs that Slurm tracks by cgroup v2.
# minislurm: -n 1 -s ProctrackType=proctrack/cgroup -s TaskPlugin=task/cgroup -s SelectTypeParameters=CR_Core_Memory -c CgroupPlugin=cgroup/v2 -c IgnoreSystemd=yes -c ConstrainRAMSpace=yes
# guest: --cgroup 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in plugin.bash

load plugin

setup() { enter_work; }
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    cd /
    forget_outputs
    [ -z "$(find /sys/fs/cgroup -name 'job_*')" ]
    assert_clean
}

root='$AZ_BATCHAI_JOB_MOUNT_ROOT'
jobs_cgroup() { echo "0::/system.slice/n1_slurmstepd.scope/job_$job/"; }

@test "mounts, preparation and steps of a job are in its cgroup, and none is left" {
    submit_alice -N 1 --mem 100M -o out --batchai-mount="$data:a:ro,tmpfs:t" --batchai-output="$work" \
        --batchai-prep='cat /proc/self/cgroup' --wrap "cat $root/a/file; cat /proc/self/cgroup; srun cat /proc/self/cgroup"
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(head -n 1 out)" = data ]
    [ "$(grep -c "^$(jobs_cgroup)" out)" = 2 ]
    grep -q "^$(jobs_cgroup)" stdout-job_prep-n1.txt
}

@test "a process that leaves its job's session ends with the job" {
    submit_alice -N 1 --mem 100M -o out --batchai-mount="$data:a:ro" \
        --batchai-prep='setsid --fork sleep 1001 </dev/null >/dev/null 2>&1' --wrap 'setsid --fork sleep 1002 </dev/null >/dev/null 2>&1; true'
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually nothing_left
}

@test "a preparation that takes more memory than its job has fails the job and says so" {
    submit_alice -N 1 --mem 32M -o out --batchai-output="$work" --batchai-prep='exec tail /dev/zero' --wrap 'touch started'
    [ "$(wait_job "$job")" = OUT_OF_MEMORY ]
    [[ $(head -n 1 out) == "batchai: n1: job preparation was ended by signal 9; see $work/stderr-job_prep-n1.txt" ]]
    [ ! -e started ]
}

@test "a job that is cancelled in its preparation leaves nothing" {
    submit_alice -N 1 --mem 100M -o out --batchai-mount="$data:a:ro" --batchai-prep='touch preparing; sleep 1000' --wrap 'touch started'
    eventually test -e preparing
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    eventually nothing_left
}
