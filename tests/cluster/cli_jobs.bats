#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job's life as batchai tells it: states, exit codes, failures, output while it runs.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

# write_shards FILE COMMAND: a job that runs a shell command on each of two nodes, each with its own output files.
write_shards() {
    write_command whole.json 2 true
    jq --arg command "'$2'" 'del(.properties.customToolkitSettings) | .properties.caffe2Settings =
        {pythonInterpreterPath: "bash -c", pythonScriptFilePath: $command}' whole.json >"$1"
}

is_numbered_in_state() { [ "$(batchai job show -n "$1" --query executionState)" = "\"$2\"" ]; }

@test "job wait says what happens and exits with the job's own exit code" {
    start three 1 'exit 3'
    run -3 batchai job wait "${scope[@]}" -n three
    [[ $output == "Job submitted at "* ]]
    [[ $output == *"Job state: failed"* ]]
    [[ $output == *'The job "three" in resource group "batchai.horovod" failed.'* ]]
    [[ $output == *"Job failed with exit code 3 at "* ]]
    start zero 1 true
    run -0 batchai job wait "${scope[@]}" -n zero
    [[ $output == *"Job completed at "*"; execution took "* ]]
}

@test "job create reads the job file once, whatever volumes it adds" {
    command -v strace >/dev/null || skip "needs strace"
    write_command once.json 1 true
    as_alice strace -o trace -e trace=openat "$BATCHAI_BUILD/bin/batchai" job create "${scope[@]}" -n once \
        -f once.json --storage-account-name a --afs-name myshare --afs-mount-path more
    [ "$(grep -c 'once\.json"' trace)" = 1 ]
    run -0 batchai job wait "${scope[@]}" -n once
    # The user's keys keep their order, and the added volume comes last.
    local snapshot
    snapshot=$(grep -rl --include=job.json '"name": "once"' "$(alice_home)/.local/share/batchai/jobs")
    [ "$(jq -r '.properties | keys_unsorted[]' "$snapshot" | paste -sd' ')" = "nodeCount customToolkitSettings stdOutErrPathPrefix mountVolumes" ]
    [ "$(jq -r '.properties.mountVolumes.azureFileShares[].relativeMountPath' "$snapshot" | paste -sd' ')" = "myshare more" ]
}

@test "job file stream loses not one byte" {
    local round rounds
    rounds=$(often 20)
    for ((round = 0; round < rounds; round++)); do
        start "bytes$round" 1 'for i in $(seq 200); do echo line $i; sleep 0.01; done; seq 50000; printf last'
        batchai job file stream "${scope[@]}" -j "bytes$round" -f stdout.txt >streamed
        { for i in $(seq 200); do echo "line $i"; done && seq 50000 && printf last; } | cmp - streamed
    done
}

@test "job file stream shows output while the job runs" {
    start slow 1 'echo first; until [ -e '"$work"'/go ]; do sleep 0.1; done; echo second'
    batchai job file stream "${scope[@]}" -j slow -f stdout.txt >streamed &
    stream=$!
    eventually grep -q first streamed
    run ! grep -q second streamed
    is_in_state slow running
    touch go
    wait $stream
    [ "$(cat streamed)" = $'first\nsecond' ]
}

@test "job file stream of a file that never came says so when the job has ended" {
    start nothing 1 true
    run -1 batchai job file stream "${scope[@]}" -j nothing -f other.txt
    [[ $output == *'The file "other.txt" not found for the completed job.'* ]]
}

@test "job file stream does not wait for a file that the job's processes do not write, and names theirs" {
    write_shards shards.json 'until [ -e '"$work"'/go ]; do sleep 0.1; done; echo shard; exit $AZ_BATCHAI_TASK_INDEX'
    batchai job create "${scope[@]}" -n shards -f shards.json --storage-account-name a
    refused_with '*--file-name stdout.txt: job shards writes no such file, but stdout-0.txt, stdout-1.txt*' \
        job file stream "${scope[@]}" -j shards -f stdout.txt
    touch go
    [ "$(batchai job file stream "${scope[@]}" -j shards -f stdout-1.txt)" = shard ]
    # The failed one's own file is named.
    run ! batchai job wait "${scope[@]}" -n shards
    [[ $output == *"To see all of it: batchai job file stream "*" -j shards -f stderr-1.txt"* ]]
    start common 1 true
    refused_with '*stdout-0.txt: job common writes no such file, but stdout.txt*' \
        job file stream "${scope[@]}" -j common -f stdout-0.txt
    batchai job wait "${scope[@]}" -n common --interval 0.2
}

@test "job file list finds an output directory by its id, and the job's time limit is Slurm's" {
    write_command model.json 1 'echo weights >$AZ_BATCHAI_OUTPUT_MODEL/w'
    jq '.properties += {constraints: {maxWallClockTime: "PT30M"}, outputDirectories: [
        {id: "MODEL", pathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out", pathSuffix: "Models"}]}' model.json >limited.json
    job=$(batchai job create "${scope[@]}" -n model -f limited.json --storage-account-name a --query slurm.jobId)
    [ "$(job_field "$job" TimeLimit)" = 00:30:00 ]
    batchai job wait "${scope[@]}" -n model --interval 0.2
    batchai job file list "${scope[@]}" -j model -d MODEL | jq -e '[.[].name] == ["w"]'
    run ! batchai job file list "${scope[@]}" -j model -d OTHER
    [[ $output == *"output directory OTHER: the job has only stdouterr, MODEL"* ]]
}

@test "a note about a job file is printed by job check and by the first submission, a warning by each" {
    write_command whole.json 1 true
    jq '.properties += {experimentName: "old", nodes: 1}' whole.json | sed 's/<.*>/a/' >noted.json
    as_alice sbatch --test-only -N1 --batchai-job=noted.json --wrap true 2>&1 | grep 'note: properties.experimentName: ignored: '
    create=(batchai job create "${scope[@]}" -n noted -f noted.json --dry-run)
    run "${create[@]}"
    [[ $output != *experimentName* && $output == *"warning: properties.nodes: unknown key, ignored"* ]]
    jq '.properties.toolType = "custom"' noted.json >more.json
    run "${create[@]}" -f more.json
    [[ $output != *experimentName* && $output == *"note: properties.toolType: ignored: "* ]]
    run as_alice sbatch --test-only -N1 --batchai-job=more.json --wrap true
    [[ $output != *"note: "* && $output == *"warning: properties.nodes"* ]]
    run batchai job check more.json
    [[ $output == *"note: properties.experimentName"*"note: properties.toolType"* ]]
    # Notes that were not printed are not forgotten.
    jq '.properties.priority = 1' noted.json >last.json
    run "${create[@]}" -f last.json --only-show-errors
    [[ $output != *"note: "* ]]
    run "${create[@]}" -f last.json
    [[ $output == *"note: properties.priority: ignored: "* ]]
}

@test "job file stream does not leave the job's output directory" {
    start nothing 1 true
    refused_with '*must stay below*' job file stream "${scope[@]}" -j nothing -p ../.. -f stdout.txt
    refused_with '*must be a name*' job file stream "${scope[@]}" -j nothing -f ../stdout.txt
    batchai job wait "${scope[@]}" -n nothing
}

@test "job show of a failed command has its exit code and its one line" {
    start failed 1 'echo "no such data" >&2; exit 7'
    run ! batchai job wait "${scope[@]}" -n failed
    batchai job show "${scope[@]}" -n failed >said
    [ "$(jq -r '"\(.executionState) \(.executionInfo.exitCode) \(.executionInfo.errors[0].code)"' said)" = "failed 7 JobFailed" ]
    [[ $(jq -r '.executionInfo.errors[0].message' said) == *"code 7"* ]]
}

@test "job stacks prints at which line of Python each rank of a running job is, and the job goes on" {
    cat >late.py <<SCRIPT
import os, time
rank = os.environ["PMIX_RANK"]
open("$work/runs." + rank, "w").close()
while not os.path.exists("$work/go"): time.sleep(0.1)
SCRIPT
    write_shards late.json "exec /usr/bin/python3 $work/late.py"
    batchai job create "${scope[@]}" -n late -f late.json --storage-account-name a
    eventually test -e runs.0 -a -e runs.1
    run -0 batchai job stacks "${scope[@]}" -n late
    [[ $output == "batchai-launch: lines of Python:"$'\n'"  ranks 0-1: late.py:4 in <module>"$'\n'* ]]
    [[ $output == *"rank 0 on n1, process "*", stack (Python):"*'late.py", line 4 in <module>' ]]
    touch go
    run -0 batchai job wait "${scope[@]}" -n late
    run -1 batchai job stacks "${scope[@]}" -n late
    [[ $output == "batchai: job late: is succeeded: only a running job has stacks" ]]
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' late.json
    submit_alice -N 2 -o out --batchai-job=late.json --wrap 'sleep 1000'
    eventually is_numbered_in_state "$job" running
    run -2 batchai job stacks -n "$job"
    [[ $output == "batchai: job late: was not submitted by batchai job create, or "* ]]
    scancel "$job"
}

@test "a terminated job is failed, without an exit code, by the user" {
    start long 2 'sleep 60'
    eventually is_in_state long running
    batchai job terminate "${scope[@]}" -n long --yes
    is_in_state long failed # az waits for the end
    batchai job show "${scope[@]}" -n long >said
    [ "$(jq -r '.executionInfo | "\(.exitCode) \(.errors[0].code)"' said)" = "null JobTerminated" ]
    run -255 batchai job wait "${scope[@]}" -n long
}

@test "a queued job is queued, and can be terminated" {
    scontrol update NodeName=n1,n2 State=DRAIN Reason=test
    start waits 1 true
    is_in_state waits queued
    batchai job terminate "${scope[@]}" -n waits --yes --no-wait
    eventually is_in_state waits failed
    scontrol update NodeName=n1,n2 State=RESUME
    # It has not started.
    batchai job show "${scope[@]}" -n waits | jq -e '.executionInfo.startTime == null'
    run batchai job wait "${scope[@]}" -n waits
    [[ $output != *"started execution"* && $output != *"execution took"* ]]
    [[ $output == *"Job failed with exit code <none> at "* ]]
}

@test "a job's state is known after Slurm has forgotten the job" {
    start kept 1 'exit 4'
    run ! batchai job wait "${scope[@]}" -n kept
    id=$(batchai job show "${scope[@]}" -n kept --query slurm.jobId)
    rm "$(alice_home)/.local/share/batchai/history.db" # all that is left is the record
    [ "$(batchai job show -n "$id" --query executionInfo.exitCode)" = 4 ]
    rm "$(alice_home)/.local/share/batchai/history.db"
    echo 4000000 >"$(record)/slurm_job_id" # which Slurm does not know
    [ "$(batchai job show -n 4000000 --query executionInfo.exitCode)" = 4 ]
}

@test "a job's name is not taken for a state, and the user's squeue settings hide no job" {
    write_command plain.json 1 'sleep 60'
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' plain.json
    submit_alice -N 1 -o out -J 'x JobState=COMPLETED ExitCode=0:0' --comment 'JobState=FAILED' --batchai-job=plain.json \
        --wrap 'exec batchai-launch --job "$BATCHAI_JOB_FILE"'
    export SQUEUE_STATES=COMPLETED SQUEUE_FORMAT=%i SQUEUE_USERS=root
    eventually is_numbered_in_state "$job" running
    unset SQUEUE_STATES SQUEUE_FORMAT SQUEUE_USERS
    scancel "$job"
    eventually is_numbered_in_state "$job" failed
}

@test "a job created in an array task is no array task" {
    SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=9 start alone 1 'env | grep ^SLURM_ARRAY || echo none'
    batchai job wait "${scope[@]}" -n alone
    [ "$(batchai job file stream "${scope[@]}" -j alone -f stdout.txt 2>/dev/null)" = none ]
}

@test "the job runs a snapshot: editing the job file changes nothing" {
    scontrol update NodeName=n1,n2 State=DRAIN Reason=test
    start edited 1 'echo before'
    sed -i s/before/after/ edited.json
    scontrol update NodeName=n1,n2 State=RESUME
    batchai job wait "${scope[@]}" -n edited
    [ "$(batchai job file stream "${scope[@]}" -j edited -f stdout.txt 2>/dev/null)" = before ]
}

@test "job delete takes the record and leaves the output" {
    start gone 1 'echo kept'
    batchai job wait "${scope[@]}" -n gone
    output_directory=$(stdouterr)
    batchai job delete "${scope[@]}" -n gone --yes
    [ "$(batchai job list)" = "[]" ]
    [ "$(cat "$output_directory/stdout.txt")" = kept ]
    start gone 1 true # the name is free again
    batchai job wait "${scope[@]}" -n gone
}

# ended_and_gone NAME: Slurm has ended the job of $job, and batchai knows the name no more.
ended_and_gone() {
    [ "$(job_state "$job")" = CANCELLED ]
    [ "$(batchai job list --query "[?name=='$1'] | length(@)")" = 0 ]
}

@test "job delete ends a running job, and then removes its record" {
    # The job writes into its record for a while after it was told to end.
    job=$(start busy 1 'trap "sleep 2; echo late >\"\$AZ_BATCHAI_SHARED_JOB_TEMP/late\" || touch '"$work"'/lost; exit" TERM; touch '"$work"'/started; sleep 60 & wait')
    eventually test -e started
    batchai job delete "${scope[@]}" -n busy --yes
    ended_and_gone busy
    [ ! -e lost ]
    [ -z "$(ls "$(alice_home)/.local/share/batchai/jobs")" ]
    write_command waits.json 1 true
    job=$(batchai job create "${scope[@]}" -n waits -f waits.json --storage-account-name a --query slurm.jobId -- --begin=now+1hour)
    batchai job delete "${scope[@]}" -n waits --yes
    ended_and_gone waits
}

@test "job delete --no-wait returns at once, and a later command removes the record" {
    job=$(start busy 1 'trap "until [ -e '"$work"'/go ]; do sleep 0.1; done; exit" TERM; touch '"$work"'/started; sleep 60 & wait')
    eventually test -e started
    batchai job delete "${scope[@]}" -n busy --yes --no-wait
    [ "$(batchai job show "${scope[@]}" -n busy --query '[provisioningState, executionState]' -o tsv)" = $'deleting\nterminating' ]
    batchai job list "${scope[@]}" -o table | grep -q '^busy .* deleting '
    [ -d "$(record)" ]
    touch go
    eventually ended_and_gone busy
    [ -z "$(ls "$(alice_home)/.local/share/batchai/jobs")" ]
    start busy 1 true # the name is free again
    batchai job wait "${scope[@]}" -n busy
}

@test "the deletion of an experiment, a workspace, a group and a cluster ends the jobs in it, and no other job" {
    batchai cluster create -g batchai.horovod -w batchaidev -n mine
    other=$(scope=(-g others -w batchaidev -e cifar) && start other 1 'sleep 60')
    for what in "experiment -g batchai.horovod -w batchaidev -n cifar" "workspace -g batchai.horovod -n batchaidev" "group -n batchai.horovod"; do
        job=$(start busy 1 'sleep 60')
        eventually is_in_state busy running
        read -r noun words <<<"$what"
        run batchai "$noun" delete $words </dev/null
        [[ $status = 1 && $output == *"(ends: busy)"* ]]
        # shellcheck disable=SC2086 # words
        batchai "$noun" delete $words --yes
        ended_and_gone busy
    done
    [ "$(batchai group list --query '[].name' -o tsv)" = others ]
    batchai cluster create -g others -w batchaidev -n mine
    write_command mine.json 1 'sleep 60'
    job=$(batchai job create -g others -w batchaidev -e cifar -n mine -c mine -f mine.json --storage-account-name a --query slurm.jobId)
    batchai cluster delete -g others -w batchaidev -n mine --yes
    [ "$(job_state "$job")" = CANCELLED ]
    [ "$(batchai job show -g others -w batchaidev -e cifar -n mine --query executionState)" = '"failed"' ] # its record stays
    [ "$(job_state "$other")" = RUNNING ]
    batchai group delete -n others --yes
    [ "$(job_state "$other")" = CANCELLED ]
}

@test "a job of another user is never ended, although its number is in a record" {
    job=$(start mine 1 true)
    batchai job wait "${scope[@]}" -n mine
    number=$job
    # After a loss of slurmctld's state the number may be another user's.
    submit_as bob --output=/dev/null --wrap 'sleep 60'
    python3 - "$(alice_home)/.local/share/batchai/history.db" "$job" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history:
    history.execute("UPDATE job SET slurm_id = ?, state = NULL, errors = NULL, tool = NULL, nodes = NULL, document = NULL", sys.argv[2:])
PYTHON
    batchai job delete "${scope[@]}" -n mine --yes
    eventually job_runs
    scancel "$job"
    job=$number
}
@test "the record of a submission that was interrupted is deleted, and one that goes on is not" {
    job=$(start mine 1 true)
    batchai job wait "${scope[@]}" -n mine
    rm "$(record)/slurm_job_id"
    python3 - "$(alice_home)/.local/share/batchai/history.db" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history:
    history.execute("UPDATE job SET slurm_id = 0, state = NULL, errors = NULL, tool = NULL, nodes = NULL, document = NULL")
PYTHON
    run batchai job delete "${scope[@]}" -n mine --yes
    [[ $status = 1 && $output == "batchai: job mine: has no Slurm job number: it is being submitted, or was interrupted. "* ]]
    as_alice python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history: history.execute("UPDATE job SET created = created - 3600")' "$(alice_home)/.local/share/batchai/history.db"
    batchai job delete "${scope[@]}" -n mine --yes
    [ "$(batchai job list)" = "[]" ]
}

job_runs() { [ "$(job_state "$job")" = RUNNING ]; }

@test "job list asks Slurm once, however many jobs are waiting" {
    scontrol update NodeName=n1,n2 State=DRAIN Reason=test
    for name in one two three; do start $name 1 true; done
    batchai job list --debug --query '[].executionState' -o tsv >states 2>said
    [ "$(sort states | uniq -c | tr -s ' ')" = ' 3 queued' ]
    [ "$(grep -c '^batchai: runs .*squeue' said)" = 1 ]
    scontrol update NodeName=n1,n2 State=RESUME
    for name in one two three; do batchai job wait "${scope[@]}" -n $name; done
}

@test "a job that slurmctld has forgotten ended as the accounting says, and without one it is unknown" {
    mkdir -m 755 stub
    for name in known unknown; do
        start "$name" 1 true >number
        job=$(cat number)
        wait_job "$job"
        rm -f "$(find "$(alice_home)/.local/share/batchai/jobs" -name slurm_job_id -exec grep -lx "$job" {} + | xargs dirname)"/{result.json,events-*}
        printf '#!/bin/sh\necho "slurm_load_jobs error: Invalid job id specified" >&2\nexit 1\n' >stub/squeue
        if [ $name = known ]; then
            printf '#!/bin/sh\necho "%s|%s|OUT_OF_MEMORY|0:125|%s|%s|%s|mini"\n' "$job" "$job" "$(date +%s)" "$(date +%s)" "$(date +%s)" >stub/sacct
        else
            printf '#!/bin/sh\necho "Slurm accounting storage is disabled" >&2\nexit 1\n' >stub/sacct
        fi
        chmod 755 stub/*
        as_alice env PATH="$work/stub:$PATH" batchai job show "${scope[@]}" -n "$name" >said.$name
        rm stub/*
    done
    jq -e '.executionState == "failed" and .executionInfo.errors[0].code == "JobOutOfMemory"' said.known
    jq -e '.executionInfo.errors[0].message == "Slurm no longer knows the job and it left no result"' said.unknown
}

@test "a time limit above the partition's is cut to it with a note" {
    scontrol update PartitionName=mini MaxTime=20
    write_command long.json 1 true
    jq '.properties.constraints = {maxWallClockTime: "PT5H"}' long.json >job.json
    job=$(batchai job create "${scope[@]}" -n long -f job.json --storage-account-name a --query slurm.jobId 2>said)
    scontrol update PartitionName=mini MaxTime=UNLIMITED
    [ "$(job_field "$job" TimeLimit)" = 00:20:00 ]
    grep -q "properties.constraints.maxWallClockTime: 0-05:00:00 is above the limit of partition mini: the job gets 0-00:20:00" said
    batchai job wait "${scope[@]}" -n long
}

@test "the tabs between the values of tsv are not escaped" {
    start tsv 1 true
    batchai job wait "${scope[@]}" -n tsv
    batchai job list "${scope[@]}" -o tsv --query '[].[name,executionState]' >list
    grep -q $'^tsv\tsucceeded$' list
    [ "$(grep '^tsv' list | cut -f2)" = succeeded ]
}

@test "a known job is shown if the history cannot be written" {
    start known 1 "until [ -e $work/go ]; do sleep 0.1; done" # until then its end is not recorded
    id=$(batchai job show "${scope[@]}" -n known --query slurm.jobId)
    touch go
    wait_job "$id"
    data=$(alice_home)/.local/share/batchai
    # A trigger instead of a full disk: the history cannot be written.
    as_alice python3 - "$data/history.db" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history:
    history.execute("CREATE TRIGGER full BEFORE UPDATE ON job BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
END
    batchai job show "${scope[@]}" -n known >shown 2>said
    [ "$(jq -r .executionState shown)" = succeeded ]
    [ "$(cat said)" = "batchai: $data/history.db: disk is full; the ends of jobs are not recorded there" ]
    batchai job list "${scope[@]}" >list 2>said
    [ "$(jq -r '.[] | select(.name == "known").executionState' list)" = succeeded ]
    [ "$(wc -l <said)" = 1 ]
    batchai job wait "${scope[@]}" -n known
    as_alice python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("DROP TRIGGER full")' "$data/history.db"
}

@test "a broken document of the history is made again, not printed" {
    start broken 1 true
    batchai job wait "${scope[@]}" -n broken
    as_alice python3 - "$(alice_home)/.local/share/batchai/history.db" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history:
    history.execute("UPDATE job SET document = '{broken}', errors = '[1]' WHERE name = 'broken'")
END
    [ "$(batchai job show "${scope[@]}" -n broken | jq -r .executionState)" = succeeded ]
    batchai job list "${scope[@]}" | jq -e 'any(.[]; .name == "broken" and .toolType == "custom")'
}

# ---- options of batchai-launch ------------------------------------------------------------------

# write_ranks FILE NODES COMMAND: a job of one rank on each node.
write_ranks() {
    write_command whole.json "$2" true
    jq --arg command "$3" --argjson nodes "$2" 'del(.properties.customToolkitSettings) |
        .properties.customMpiSettings = {commandLine: $command, processCount: $nodes}' whole.json >"$1"
}

launch_of() { batchai job show "${scope[@]}" -n "$1" --query launch | jq -c "${2-.}"; }

@test "a job with --restarts starts its ranks again after one has failed, and job show says with which options" {
    # shellcheck disable=SC2016 # the job expands it
    write_ranks restarts.json 2 'echo attempt $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS; [ $RANK$TORCHELASTIC_RESTART_COUNT != 10 ]'
    run -0 batchai job create "${scope[@]}" -n restarts -f restarts.json --storage-account-name a \
        --restarts 2 --grace 0.5 --label --wait
    [ "$(launch_of restarts)" = '{"grace":0.5,"hangReport":null,"label":true,"maxRequeues":null,"requeueOn":null,"restarts":2}' ]
    batchai job file stream "${scope[@]}" -j restarts -f stdout.txt >streamed
    cat streamed
    [ "$(grep -c '^\[[01] n[12]\] attempt 1 of 2$' streamed)" = 2 ]
    grep -q '^\[1 n2\] attempt 0 of 2$' streamed
}

starts_again() {
    [ "$(job_field "$job" Restarts)" = 1 ] && [ "$(job_state "$job")" = PENDING ] &&
        scontrol update JobId="$job" StartTime=now ReqNodeList=n2
}

@test "a job with --requeue-on is requeued, with the same options, and job wait waits for its last run" {
    # shellcheck disable=SC2016 # the job expands it
    write_ranks requeued.json 1 'echo run ${SLURM_RESTART_COUNT:-0}; [ -n "$SLURM_RESTART_COUNT" ]'
    job=$(batchai job create "${scope[@]}" -n requeued -f requeued.json --storage-account-name a --requeue-on failure,node-fail \
        --query slurm.jobId -- -w n1)
    [ "$(job_field "$job" Requeue)" = 1 ]
    eventually starts_again
    run -0 batchai job wait "${scope[@]}" -n requeued
    [ "$(launch_of requeued .requeueOn)" = '"failure,node-fail"' ]
    batchai job file stream "${scope[@]}" -j requeued -f stdout.txt | grep -xc 'run [01]' | grep -x 2
}

@test "the site policy's [launch] counts for options that the user does not give" {
    local policy=$BATCHAI_POLICY
    BATCHAI_POLICY=$work/launch.toml
    printf '[launch]\nrestarts = 1\ngrace = 20\nrequeue_on = "node-fail"\nmax_requeues = 5\n' | cat "$policy" - >"$BATCHAI_POLICY"
    write_command defaults.json 1 true
    create=(batchai job create "${scope[@]}" -n defaults -f defaults.json --storage-account-name a)
    run -0 "${create[@]}" --dry-run --restarts 3
    [[ $output == *" --requeue "* ]]
    [[ $output == *$'\n'"exec "*"/batchai-launch --restarts=3 --requeue-on=node-fail --max-requeues=5 --grace=20 --job "* ]]
    run -0 "${create[@]}" --dry-run -- --no-requeue
    [[ $output == *$'\n'"exec "*"/batchai-launch --restarts=1 --grace=20 --job "* ]]
    job=$("${create[@]}" --query slurm.jobId)
    [ "$(launch_of defaults .maxRequeues)" = 5 ]
    wait_job "$job" COMPLETED
}

@test "a wrong value of an option of batchai-launch is refused before anything is submitted" {
    write_command wrong.json 1 true
    create=(job create "${scope[@]}" -n wrong -f wrong.json --storage-account-name a)
    refused_with '*--restarts: must be an integer from 0 to 1000000*' "${create[@]}" --restarts many
    refused_with '*--grace: must be from 0 to 1000000 seconds*' "${create[@]}" --grace -1
    refused_with "*--requeue-on: 'sunday' is not one of signal, node-fail and failure*" "${create[@]}" --requeue-on signal,sunday
    refused_with '*--max-requeues requires --requeue-on*' "${create[@]}" --max-requeues 2
    refused_with "*--requeue-on and sbatch's --no-requeue exclude each other*" "${create[@]}" --requeue-on signal -- --no-requeue
}
