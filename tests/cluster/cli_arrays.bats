#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs of plain sbatch as batchai names them: job arrays and their tasks, and jobs that wait.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

# array WORDS_OF_SBATCH... SCRIPT: submits an array whose job file is train.json.
array() {
    write_command train.json 1 true
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' train.json
    submit_alice -N 1 -o "out.%a" --batchai-job=train.json "$@"
}

states() { batchai job show -n "$1" --query '[].executionState' -o tsv | tr '\n' ' '; }
are_in_states() { [ "$(states "$1")" = "$2" ]; }
slurm_state() { scontrol show job -o "$1" 2>/dev/null | grep -o 'JobState=[A-Z]*' | cut -d= -f2; }
drain() { scontrol update NodeName=n1,n2 State=DRAIN Reason=test; }
resume() { scontrol update NodeName=n1,n2 State=RESUME; }

@test "a job of plain sbatch is known by its number while it waits, before and after its end" {
    write_command waits.json 1 'echo plain'
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' waits.json
    drain
    for name in one two; do
        submit_alice -N 1 -o out --batchai-job=waits.json --wrap 'exec batchai-launch --job "$BATCHAI_JOB_FILE"'
        eval "$name=$job"
    done
    # shellcheck disable=SC2154 # one and two are set by eval
    [ "$(batchai job list --query '[].[slurm.jobId,executionState]' -o tsv)" = "$one"$'\tqueued\n'"$two"$'\tqueued' ]
    [ "$(batchai job show -n "$one" --query executionState)" = '"queued"' ]
    [ "$(batchai job show -n waits --query slurm.jobId)" = "$two" ] # the newest of that name
    batchai job terminate -n "$one" --yes
    [ "$(slurm_state "$one") $(slurm_state "$two")" = "CANCELLED PENDING" ]
    [ "$(batchai job show -n "$one" --query 'executionInfo.errors[0].code' 2>/dev/null)" = '"JobTerminated"' ]
    batchai job wait -n "$two" --interval 0.2 2>said &
    waiting=$!
    eventually grep -q 'Job state: queued' said
    resume
    wait $waiting
    [ "$(batchai job file stream -j "$two" -f stdout.txt 2>/dev/null)" = plain ]
    # Nothing more is asked of Slurm about submissions.
    [ -z "$(find "$(alice_home)/.local/share/batchai/jobs" -name submitting)" ]
}

@test "a job with a comment of its own keeps it, and batchai says why it does not know the job yet" {
    write_command own.json 1 true
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' own.json
    drain
    submit_alice -N 1 -o out --comment='my project' --batchai-job=own.json --wrap true
    [ "$(squeue -h -j "$job" -o %k)" = 'my project' ]
    run -2 batchai job show -n "$job"
    [ "$output" = "batchai: job $job: Slurm has it, but batchai has no record of it: it was submitted without a job file, or has a comment of its own and has not started yet" ]
    resume
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(batchai job show -n "$job" --query executionState)" = '"succeeded"' ]
}

@test "a job is known though batchai was killed between sbatch and its own note" {
    write_command killed.json 1 true
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' killed.json
    mkdir -p bin
    write_script bin/sbatch 'PATH=${PATH#*:} sbatch "$@"' 'kill -KILL $PPID'
    chown -R alice: bin
    drain
    run -137 as_alice env PATH="$PWD/bin:$PATH" batchai job create -n killed -f killed.json
    number=$(squeue -h -o %i)
    [ "$(batchai job list --query '[].[name, slurm.jobId]' -o tsv)" = $'killed\t'"$number" ]
    resume
    [ "$(wait_job "$number")" = COMPLETED ]
    batchai job wait -n killed
    [ -z "$(find "$(alice_home)/.local/share/batchai/jobs" -name submitting)" ]
}

@test "a submission that Slurm refuses is not listed" {
    write_command refused.json 1 true
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' refused.json
    run ! as_alice sbatch -N 1 -p nowhere --batchai-job=refused.json --wrap true
    [ "$(batchai job list)" = '[]' ]
    # After an hour Slurm is not asked about it any more.
    find "$(alice_home)/.local/share/batchai/jobs" -name submitting -exec touch -d '2 hours ago' {} +
    batchai job list
    [ -z "$(find "$(alice_home)/.local/share/batchai/jobs" -name submitting)" ]
}

@test "rows name the tasks of an array, and a task's row ends that task alone" {
    array --array=0-2 --wrap 'exec sleep 60'
    eventually are_in_states "$job" 'running running running '
    batchai job list -o table >table
    [ "$(awk 'NR > 2 {print $1}' table)" = $'train/0\ntrain/1\ntrain/2' ]
    for task in 0 1 2; do grep -q " ${job}_$task " table; done
    # The last task has the array's number as its own.
    last=$(batchai job show -n "${job}_2" --query slurm.jobId)
    [ "$last" = "$job" ]
    batchai job terminate -n "${job}_2" --yes
    eventually are_in_states "$job" 'running running failed '
    [ "$(slurm_state "${job}_0") $(slurm_state "${job}_1")" = "RUNNING RUNNING" ]
    batchai job terminate -n train/0 --yes
    eventually are_in_states train 'failed running failed '
    batchai job terminate -n "$(batchai job show -n train/1 --query slurm.jobId)" --yes # its own number
    eventually are_in_states train 'failed failed failed '
}

@test "the number that sbatch printed, and the name, are the array" {
    array --array=0-3%1 --wrap 'exit $((SLURM_ARRAY_TASK_ID + 3))'
    [ "$(batchai job show -n "$job" --query 'length(@)')" = 4 ] # also the tasks that wait
    run -6 batchai job wait -n "$job" --interval 0.2
    [[ $output == *"an array of 4 tasks"*"Tasks: 4 failed"*"Task 3 failed with exit code 6: batchai job show -n ${job}_3"* ]]
    run -0 batchai job show -n train
    [[ $output == *"batchai: 4 of 4 tasks failed; the report of one: batchai job show -n ${job}_0"* ]]
    [ "$(batchai job show -n "$job/1" --query name 2>/dev/null)" = "" ]
    [ "$(batchai job show -n train/1 --query executionInfo.exitCode)" = 4 ]
    run -5 batchai job wait -n "${job}_2"
    # All is found again without the history.
    rm "$(alice_home)/.local/share/batchai/history.db"
    [ "$(states "$job")" = 'failed failed failed failed ' ]
    [ "$(batchai job show -n "${job}_2" --query executionInfo.exitCode)" = 5 ]
}

@test "an array is ended whole, also the tasks that wait" {
    array --array=0-5%2 --wrap 'exec sleep 60'
    eventually are_in_states "$job" 'running running queued queued queued queued '
    batchai job terminate -n train/4 --yes # one that waits
    eventually are_in_states "$job" 'running running queued queued failed queued '
    batchai job terminate -n train --yes
    eventually are_in_states "$job" 'failed failed failed failed failed failed '
    batchai job delete -n train/0 --yes
    [ "$(batchai job show -n train --query 'length(@)')" = 5 ]
    batchai job delete -n "$job" --yes
    [ "$(batchai job list)" = '[]' ]
    [ -z "$(ls "$(alice_home)/.local/share/batchai/jobs")" ]
}

@test "what needs one job refuses an array and says how to name a task" {
    array --array=1-2 --wrap 'exec sleep 60'
    eventually are_in_states train 'running running '
    for verb in "job file stream -f stdout.txt" "job file list" "job node list" "job node exec --exec hostname"; do
        # shellcheck disable=SC2086 # words
        refused_with "batchai: job train: is an array of 2 tasks: name one of them, such as train/1 or ${job}_1" $verb -j train
    done
    [ "$(batchai job node list -j "${job}_2" --query 'length(@)')" = 1 ]
    batchai job node exec -j train/2 --exec 'echo $SLURM_JOB_ID' >number 2>said
    [ "$(cat number)" = "$(batchai job show -n train/2 --query slurm.jobId)" ]
    batchai job file list -j train/1
    refused_with "batchai: job train/7: the array has no such task: see 'batchai job list'" job show -n train/7
    refused_with "*'train/x' is not a name of a task: NAME/INDEX, such as train/3*" job show -n train/x
    refused_with "*'26+1' is a component of a heterogeneous job: batchai knows the job as 26*" job show -n 26+1
    batchai job terminate -n train --yes
}

@test "a job in another experiment is named there" {
    write_command job.json 1 true
    batchai job create -g mygroup -e cifar -n other -f job.json --storage-account-name a
    refused_with "batchai: job other: not found in experiment default of workspace default of group default; experiment cifar has one: give -g mygroup -e cifar" job show -n other
    refused_with "batchai: job nowhere: not found in experiment default of workspace default of group default: see 'batchai job list'" job show -n nowhere
    batchai job wait -g mygroup -e cifar -n other
    batchai job list -o table >table
    [[ $(sed -n 1p table) == *Experiment* ]]
    grep -q ' cifar ' table
}

@test "job list shows the last jobs, those of a state and those of a time" {
    start good 1 true
    start bad 1 false
    start best 1 true
    for name in good bad best; do batchai job wait "${scope[@]}" -n $name || true; done
    names() { batchai job list --query '[].name' -o tsv "$@" | tr '\n' ' '; }
    [ "$(names --state failed)" = 'bad ' ]
    [ "$(names --state succeeded --last 1)" = 'best ' ]
    [ "$(names --state failed,succeeded --last 2)" = 'bad best ' ]
    [ "$(names --last 2)" = 'bad best ' ]
    [ "$(names --since 1h)" = 'good bad best ' ]
    as_alice python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history: history.execute("UPDATE job SET created = created - 8 * 86400 WHERE name = ?", ("good",))' \
        "$(alice_home)/.local/share/batchai/history.db"
    [ "$(names --since 7d)" = 'bad best ' ]
    [ "$(names --since 2w)" = 'good bad best ' ]
    refused_with "*--since*'week' is not a time*" job list --since week
    refused_with "*--state*'done' is not a state: queued, running, terminating, succeeded or failed*" job list --state done
    refused_with "*--last*" job list --last 0
}
