#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Slurm finds a job's processes by their cgroup (proctrack/cgroup, version 1): the plugin works as
# without cgroups, and its programs end with the processes that Slurm kills.
# minislurm: -n 2
# needs: root freezer
# plugin: policy=/run/minislurm/batchai.toml

load plugin

freezer=/sys/fs/cgroup/freezer

setup_file() {
    make_site
    sed -i s,proctrack/linuxproc,proctrack/cgroup, "$MINISLURM_DIR/etc/slurm.conf"
    printf 'CgroupPlugin=cgroup/v1\n' >"$MINISLURM_DIR/etc/cgroup.conf"
    for node in n1 n2; do restart_slurmd "$node"; done
    as_alice srun -Q -N 2 true
    remember_nodes
}

# What Slurm leaves.
teardown_file() { find "$freezer"/slurm_n[12] -depth -type d -exec rmdir {} + 2>/dev/null || true; }

setup() { enter_work; }

@test "a job's processes are in its cgroup, and have its mounts and its preparation" {
    write_script job.sh 'grep -o freezer:.* /proc/self/cgroup' 'srun cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro,tmpfs:t,overlay=$data:o" --batchai-prep='echo x >>prepared.$(hostname)' job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [[ $(head -n 1 out) == freezer:*/job_$job/* ]]
    [ "$(tail -n 2 out)" = $'data\ndata' ]
    [ "$(cat prepared.n1 prepared.n2)" = $'x\nx' ]
}

@test "scancel during the set-up ends it with one line and leaves nothing" {
    submit_held
    scancel "$job"
    let_go
    [ "$(wait_job "$job")" = CANCELLED ]
    [ ! -e started ]
    assert_clean
}

@test "scancel during the preparation ends it and leaves nothing" {
    submit_alice -N 2 -o out --batchai-prep='touch preparing.$(hostname); setsid sleep 1001 & sleep 1002' --wrap 'touch started'
    eventually test -e preparing.n1 -a -e preparing.n2
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    [ ! -e started ]
    assert_clean
}

@test "a process that has left its job's step is gone with the job" {
    as_alice srun --batchai-mount="$data:a:ro" sh -c 'setsid sleep 1003 >/dev/null 2>&1 & sleep 0.2'
    assert_clean
}

@test "after kill -9 of slurmstepd nothing is left" {
    running_job
    kill_all "^slurmstepd: .$job[.]"
    scancel "$job"
    eventually job_is_over "$job"
    assert_clean
}
