#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Shares and exports that cannot be mounted, and servers that die under a job.
# minislurm: -n 1
# needs: nfs smb
# guest: yes
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in network.bash and what it loads

load network

setup_file() { make_network_site 15; }
setup() { enter_work; }
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    cd /
    port_is_open 2049 || start_nfs
    port_is_open 1445 || start_smb
    rm -rf "$smb_dir"/[!h]* "$export_dir"/data/* "$(alice_home)/.local" "$work"
    assert_clean
}

root='$AZ_BATCHAI_JOB_MOUNT_ROOT'

@test "a share whose password is wrong fails the job with one line" {
    write_network_job "$(share_of wrong smb)" ""
    run_network_job 'touch started'
    failed_with "batchai: n1: mounting //10.87.0.1/share at smb: cifs: Permission denied*"
}

@test "an export that the server does not have fails the job with one line" {
    write_network_job "" "$(file_server_of missing nfs)"
    run_network_job 'touch started'
    failed_with "batchai: n1: mounting 10.87.0.1:/nowhere at nfs: nfs: No such file or directory*"
}

@test "a server that refuses to talk fails the job with one line" {
    write_network_job "" "$(file_server_of refusing nfs)"
    run_network_job 'touch started'
    failed_with "batchai: n1: mounting 10.87.0.1:/export at nfs: nfs: Connection refused*"
}

nobody_is_99() { on_node n1 ip neigh replace 10.87.0.99 lladdr 02:00:00:00:00:99 dev eth0; }

@test "a server that never answers fails the job with one line, within the site's time limit" {
    nobody_is_99
    write_network_job "" "$(file_server_of silent nfs)"
    run_network_job 'touch started'
    failed_with "batchai: n1: mounting 10.87.0.99:/export at nfs: no answer within 15 seconds*"
}

@test "a job goes on when its NFS server has died and come back" {
    write_network_job "" "$(file_server_of hard nfs data)"
    write_script job.sh "cd $root/nfs" 'echo before >file' 'for ((i = 0; i < 100; i++)); do echo $i >>file; [ ! -e end ] || break; sleep 0.2; done; echo after >>file'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    eventually grep -sqx 1 "$export_dir/data/file"
    stop_nfs
    sleep 3
    start_nfs
    touch "$export_dir/data/end"
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(tail -n 1 "$export_dir/data/file")" = after ]
    [ "$(cat out)" = "" ]
}

@test "a job goes on when its SMB server has died and come back" {
    write_network_job "$(share_of site smb)" ""
    write_script job.sh "cd $root/smb" 'echo begun >begun' 'until [ -e end ]; do sleep 0.5; done 2>/dev/null; echo after >file'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    eventually test -e "$smb_dir/begun"
    stop_smb
    sleep 3
    start_smb
    touch "$smb_dir/end"
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat "$smb_dir/file")" = after ]
}

@test "a job whose servers are dead can be cancelled, and nothing is left" {
    write_network_job "$(share_of site smb)" "$(file_server_of fs1 nfs data), $(file_server_of hard hard data)"
    write_script job.sh "cd $root/hard" 'touch begun' 'while true; do touch x $AZ_BATCHAI_JOB_MOUNT_ROOT/nfs/y $AZ_BATCHAI_JOB_MOUNT_ROOT/smb/z; sleep 0.2; done'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    eventually test -e "$export_dir/data/begun"
    stop_nfs
    stop_smb
    sleep 1
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    deadline=100 eventually nothing_left
}

@test "a process with a share's password leaves no core dump" {
    nobody_is_99
    echo "$work/core.%e.%p" >/proc/sys/kernel/core_pattern
    on_node n1 prlimit --core=unlimited --pid "$(cat "$MINISLURM_DIR/node/n1/slurmd.pid")"
    (ulimit -c unlimited && NEEDLE=$password sh -c 'kill -ABRT $$') || true
    [ "$(grep -laF "$password" core.*)" = "$(echo core.sh.*)" ] # cores are made here
    write_network_job "$(share_of silent smb)" ""
    write_script job.sh 'touch started'
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    eventually pgrep -x batchai-helper
    sleep 1
    [ "$(pgrep -xc batchai-helper)" -gt 1 ] # one of them is in the system call that mounts
    pkill -ABRT -x batchai-helper
    [ "$(wait_job "$job")" = FAILED ]
    [ "$(echo core.*)" = "$(echo core.sh.*)" ]
}
