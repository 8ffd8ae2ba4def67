#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# FUSE programs, if Slurm ends all processes of a step's cgroup.
# minislurm: -n 1 -s ProctrackType=proctrack/cgroup
# needs: root fuse clients smb freezer
# plugin: policy=/run/minislurm/batchai.toml

load fuse

# slurmd hands its cgroup.conf, read at its start, to its steps.
setup_file() {
    make_fuse_site
    start_servers
    printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=yes\n' >"$MINISLURM_DIR/etc/cgroup.conf"
    # shellcheck disable=SC2046
    kill $(on_node_named '^slurmd -N n1')
    eventually no_slurmd
    on_node n1 slurmd -N n1
}

no_slurmd() { [ -z "$(on_node_named '^slurmd -N n1')" ]; }

setup() {
    enter_work
}

# Where process PID is, in the hierarchies in which Slurm has put it somewhere.
cgroups_of() { grep -E 'slurm|batchai' "/proc/$1/cgroup" | cut -d: -f3; }

@test "a mount outlives the step that has made it where Slurm ends a step's cgroup" {
    cat >steps.sh <<'SH'
srun -N 1 sh -c 'echo first >$AZ_BATCHAI_JOB_MOUNT_ROOT/data/file; grep -c uid_2001/job_ /proc/self/cgroup'
sleep 1
srun -N 1 cat '/run/batchai/mnt/data/file'
touch started
while [ ! -e go ]; do sleep 0.1; done
SH
    as_alice salloc -Q -N 1 --batchai-mount="volume=sshfs:data,volume=s3fs:s3" bash steps.sh >out 2>&1 3>&- &
    salloc=$!
    eventually test -e started
    [ "$(daemons | wc -l)" = 2 ]
    for pid in $(daemons); do
        cgroups_of "$pid" | tee cgroups
        [ -s cgroups ]
        ! grep -vxE '.*/batchai_mini-[0-9]+' cgroups || false
    done
    : >go
    wait "$salloc"
    [ "$(tail -n 1 out)" = first ]
    [ "$(head -n 1 out)" -gt 0 ]
}

@test "the cgroup of a job's programs is gone with the job" {
    submit_alice -N 1 -o out --batchai-mount="volume=sshfs:data" --wrap 'touch started; sleep 1000'
    eventually test -e started
    find /sys/fs/cgroup -name "batchai_mini-$job" | grep -q .
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    eventually no_cgroup "$job"
}

no_cgroup() { [ -z "$(find /sys/fs/cgroup -name "batchai_mini-$1")" ]; }

# What Slurm itself leaves  behind: empty ones of the node.
teardown_file() {
    local directory
    find /sys/fs/cgroup -depth -type d -path '*/slurm_n1*' 2>/dev/null | while read -r directory; do
        rmdir "$directory" 2>/dev/null || true
    done
}
