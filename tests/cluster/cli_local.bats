#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai job run --local: the same job file without Slurm, in a plain container.
# minislurm: none

bats_require_minimum_version 1.5.0

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$PWD/home BATCHAI_POLICY=$PWD/batchai.toml
    mkdir home share
    printf '[[share]]\nshare = "myshare"\nsource = "%s"\nlogin_path = "%s"\n' "$PWD/share" "$PWD/share" >"$BATCHAI_POLICY"
}

# write_job COMMAND [NODES]
write_job() {
    jq -n --arg command "$1" --argjson nodes "${2-2}" '{properties: {
        nodeCount: $nodes,
        customMpiSettings: {commandLine: $command, processCount: $nodes},
        stdOutErrPathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        mountVolumes: {azureFileShares: [{
            azureFileUrl: "https://a.file.core.windows.net/myshare", relativeMountPath: "myshare"}]}}}' >job.json
}

local_run() { timeout 60 batchai job run --local -n job -f job.json "$@"; }

@test "a job file runs without Slurm and leaves the same files" {
    write_job 'echo rank $OMPI_COMM_WORLD_RANK'
    local_run
    [ "$(batchai job show -n job --query executionState)" = '"succeeded"' ]
    [ "$(batchai job file stream -j job -f stdout.txt 2>/dev/null | sort)" = $'rank 0\nrank 1' ]
    batchai job file list -j job -o table | grep -q '^stdout.txt  *file  *14  '
    batchai job wait -n job
}

@test "options of batchai-launch reach the launch, except those for a queue" {
    # shellcheck disable=SC2016 # the job expands it
    write_job '[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 9; echo again'
    printf '[launch]\nrequeue_on = "failure"\ngrace = 3\n' >>"$BATCHAI_POLICY"
    local_run --restarts 1 --label
    [ "$(batchai job show -n job --query launch | jq -c 'del(..|nulls)')" = '{"grace":3,"label":true,"restarts":1}' ]
    [ "$(batchai job file stream -j job -f stdout.txt 2>/dev/null | sort)" = "[0 $(hostname)-0] again"$'\n'"[1 $(hostname)-1] again" ]
    run -2 batchai job run --local -n other -f job.json --requeue-on failure
}

@test "its exit code is the job's, and job show says why" {
    write_job '[ $OMPI_COMM_WORLD_RANK = 0 ] || exit 9'
    run -9 local_run
    [ "$(batchai job show -n job --query '[executionState, executionInfo.exitCode]' | jq -c .)" = '["failed",9]' ]
    [[ $(batchai job show -n job --query 'executionInfo.errors[0].message') == *"code 9"* ]]
}

@test "a failed preparation's line names a log that is still there" {
    write_job true 1
    jq '.properties.jobPreparation.commandLine = "echo why >&2; exit 7"' job.json >prepared.json
    mv prepared.json job.json
    run ! local_run
    line=$(batchai job show -n job --query 'executionInfo.errors[0].message' | jq -r .)
    [[ $line == "batchai: "*": job preparation failed with exit code 7; see /"* ]]
    [ "$(cat "${line##*; see }")" = why ]
}

# Starts the job in the background: timeout is $!, batchai its child. Returns once it runs.
start_in_background() {
    timeout 60 batchai job run --local -n job -f job.json 3>&- &
    for ((try = 0; try < 100; try++)); do
        [ "$(batchai job show -n job --query executionState 2>/dev/null)" = '"running"' ] && return
        sleep 0.1
    done
    return 1
}

# Its end, as job show tells it.
ends_as() {
    for ((try = 0; try < 100; try++)); do
        [ "$(batchai job show -n job --query executionState)" = '"running"' ] || break
        sleep 0.1
    done
    [ "$(batchai job show -n job --query executionState)" = "\"$1\"" ]
}

no_launcher() { ! pgrep -f "batchai-launch --local .*$BATS_TEST_TMPDIR"; }

@test "while it runs others see it running, and it cannot be deleted" {
    write_job 'until [ -e '"$PWD"'/go ]; do sleep 0.1; done' 1
    start_in_background
    run -1 batchai job delete -n job --yes
    [[ $output == *"end it there"* ]]
    run -1 batchai job terminate -n job --yes
    [[ $output == *"end it there"* ]]
    touch go
    wait $!
    [ "$(batchai job show -n job --query executionState)" = '"succeeded"' ]
}

shows_ranks() { batchai top -n job --once -o json >seen && jq -e '.jobs[0].view.ranks | length == 2 and all(.line == "at work")' seen; }

@test "batchai top shows the ranks of a local job, also without the collective library" {
    write_job 'echo at work; until [ -e '"$PWD"'/go ]; do sleep 0.1; done'
    start_in_background
    for ((try = 0; try < 300; try++)); do shows_ranks && break || sleep 0.1; done
    jq -e '.jobs[0] | .jobId == null and .secondsLeft == null and .view.awaited == null
        and all(.view.ranks[]; .line == "at work" and .waiting == null and (.inLibrary | not))' seen
    batchai top -n job --once >text
    grep -q '^job: running, 0:' text
    grep -q '^ *1  .* at work$' text
    run ! grep -q Wait% text
    touch go
    wait $!
}

@test "killed at once, it is failed and nothing of it runs on" {
    write_job 'sleep 60' 1
    start_in_background
    kill -KILL "$(pgrep -P $!)"
    wait $! || :
    ends_as failed
    for ((try = 0; try < 100; try++)); do no_launcher && break || sleep 0.1; done
    no_launcher
}

@test "a termination signal to batchai ends the job" {
    write_job 'sleep 60' 1
    start_in_background
    kill -TERM "$(pgrep -P $!)"
    code=0
    wait $! || code=$?
    [ "$code" = 143 ]
    ends_as failed
    no_launcher
}

@test "what job check refuses does not run" {
    write_job true
    jq 'del(.properties.nodeCount)' job.json >bad.json
    run -2 timeout 60 batchai job run --local -n bad -f bad.json
    [[ $output == "batchai: bad.json:"*"properties.nodeCount"* ]]
    [ "$(batchai job list)" = "[]" ]
}

@test "--local with another number of nodes than the file's is refused" {
    write_job true
    run ! timeout 60 batchai job run --local 1 -n job -f job.json
    [[ $output == *nodeCount* ]]
}

@test "where the file system has no locks, each command says so in one line, and leaves no record" {
    write_job true
    for error in ENOSYS ENOLCK; do # as on Lustre without flock, and on NFS 3 without rpc.statd
        for command in "run --local" create; do
            # shellcheck disable=SC2086 # words
            run -3 timeout 60 "$BATCHAI_SOURCE/tests/cluster/no_locks.py" $error batchai job $command -n job -f job.json
            [[ $output == "batchai: $HOME/.local/share/batchai/history.db: its file system has no file locks: "*": ask the admin for a mount with locks, or set XDG_DATA_HOME to a directory elsewhere that all nodes share" ]]
            [ "${#lines[@]}" = 1 ]
        done
    done
    [ ! -e "$HOME/.local/share/batchai/jobs" ]
    [ "$(batchai job list)" = "[]" ]
}

@test "a local run whose name is taken leaves no record" {
    write_job true 1
    local_run
    records=$(ls "$HOME/.local/share/batchai/jobs")
    run -1 local_run
    [[ $output == *"already exists."* ]]
    [ "$(ls "$HOME/.local/share/batchai/jobs")" = "$records" ]
}
