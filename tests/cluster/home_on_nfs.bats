#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command batchai where the home directory is on NFS, from two machines with NFS clients of their own.
# minislurm: -n 2
# needs: nfs nfs-locks
# guest: yes
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # set in what is loaded

load plugin
load servers

export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml
home=$(alice_home)

setup_file() {
    make_site
    start_nfs locks
    mkdir -p "$export_dir/home"
    chown alice "$export_dir/home"
}
setup() { enter_work; }
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    cd /
    # Through a client: the server would go on to know what is removed behind its back.
    on n1 rm -rf "$home/.local" "$home/restart" || true
    leave_home
    rm -rf "$work"
    remember_nodes
    assert_clean
}

# enter_home OPTIONS: mounts alice's home on both nodes.
enter_home() {
    local i
    for i in 1 2; do
        on_node "n$i" mount -i -t nfs -o "$1,proto=tcp,mountproto=tcp,addr=$server,mountaddr=$server,clientaddr=10.87.0.1$i" \
            "$server:/export/home" "$home"
    done
    remember_nodes
}
leave_home() {
    for node in n1 n2; do on_node $node umount "$home" 2>/dev/null || true; done
    stop_statd_of n1
    stop_statd_of n2
}

# on NODE COMMAND...: as alice.
on() { on_node "$1" setpriv --reuid alice --regid alice --init-groups env USER=alice HOME="$home" "${@:2}"; }

write_command() { # FILE COMMAND
    jq -n --arg command "$2" '{properties: {nodeCount: 1, customToolkitSettings: {commandLine: $command},
        stdOutErrPathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out", mountVolumes: {azureFileShares: [{
            azureFileUrl: "https://account.file.core.windows.net/myshare", relativeMountPath: "myshare"}]}}}' >"$1"
}

# Two jobs, submitted at once on two machines, and all that is asked about them.
two_jobs() {
    write_command job.json 'echo done'
    on n1 batchai job create -n one -f job.json --query slurm.jobId >one 2>&1 &
    on n2 batchai job create -n two -f job.json --query slurm.jobId >two 2>&1
    wait $!
    cat one two
    [[ $(cat one) =~ ^[0-9]+$ && $(cat two) =~ ^[0-9]+$ ]]
    on n1 batchai job wait -n two
    on n2 batchai job wait -n one
    [ "$(on n1 batchai job list --query '[].[name, executionState]' | jq -c 'sort')" = '[["one","succeeded"],["two","succeeded"]]' ]
    [ "$(on n2 batchai job show -n one --query executionInfo.exitCode)" = 0 ]
    on n1 batchai job delete -y -n one
    on n2 batchai job delete -y -n two
    [ "$(on n1 batchai job list)" = '[]' ]
    [ -z "$(ls -A "$export_dir/home/.local/share/batchai/jobs")" ]
}

# start_local NAME COMMAND: a job of one machine, which the other one sees running.
start_local() {
    write_command "$1.json" "touch $work/started.$1; $2"
    on n1 batchai job run --local -n "$1" -f "$1.json" >said 2>&1 &
    eventually test -e "started.$1" || { cat said && false; }
    [ "$(local_state "$1")" = '"running"' ]
}
local_state() { on n2 batchai job show -n "$1" --query executionState; }
local_is() { [ "$(local_state "$1")" = "\"$2\"" ]; }

# Jobs of one machine, as the other one sees them. Its client has looked for the result in vain when the job ends.
local_jobs() {
    start_local good "until [ -e $work/go ]; do sleep 0.2; done"
    touch go
    wait $!
    local_is good succeeded
    start_local killed 'exec sleep 1000'
    run -1 on n2 batchai job run --local -n killed -f killed.json
    [[ $output == *"already exists"* ]]
    # shellcheck disable=SC2046 # one argument per process
    kill -KILL $(on_node_named '^batchai job run --local')
    wait $! || true
    eventually local_is killed failed
    on n2 batchai job delete -y -n killed
    on n1 batchai job delete -y -n good
    [ -z "$(ls -A "$export_dir/home/.local/share/batchai/jobs")" ]
}

@test "with a home on NFS 4, jobs are created on two machines at once, shown, listed, waited for and deleted" {
    enter_home vers=4.2
    two_jobs
}

@test "with a home on NFS 4, another machine sees that a local job runs, has ended, or was killed" {
    enter_home vers=4.2
    local_jobs
}

@test "with a home on NFS 3, jobs are created on two machines at once, shown, listed, waited for and deleted" {
    start_statd_of n1
    start_statd_of n2
    enter_home vers=3
    two_jobs
}

@test "with a home on NFS 3, another machine sees that a local job runs, has ended, or was killed" {
    start_statd_of n1
    start_statd_of n2
    enter_home vers=3
    local_jobs
}

@test "a launch that may be repeated notes itself in a home on NFS" {
    enter_home vers=4.2
    on n1 salloc -Q -N1 -w n1 batchai-launch --restarts 1 -n 1 sh -c 'echo $BATCHAI_RESTART_DIRECTORY' >said 2>&1
    cat said
    [ "$(wc -l <said)" = 1 ]
    [ "$(ls "$export_dir/home/.local/share/batchai/launches" | wc -l)" = 2 ] # the list and its lock
}

@test "a rank finds the state that a rank on another machine has just written" {
    enter_home vers=4.2
    has_state() {
        on n2 env BATCHAI_RESTART_DIRECTORY="$home/restart" PYTHONPATH="$BATCHAI_BUILD/lib/batchai/python" \
            /usr/bin/python3 -c "import os, horovod.common.store as store
for name in ('', '/state'): os.path.exists('$home/restart' + name)
print(store.Store('state', read=lambda file: file.read()).load() is not None)"
    }
    [ "$(has_state)" = False ]
    on n1 sh -c 'mkdir ~/restart; echo x >~/restart/state'
    [ "$(has_state)" = True ]
}

@test "the doctor warns about a home whose locks stay on one machine" {
    enter_home vers=3,nolock
    run on_node n1 batchai admin check --home "$home"
    echo "$output"
    [[ $output == *"warning  homes      $home: is mounted with nolock: "* ]]
}
