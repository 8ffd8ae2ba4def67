#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How a job's end is told: why it failed, and what is kept of it.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

failing='echo "a line of no use"; echo "Traceback: no such data" >&2; exit 3'

@test "job wait and job show print the first failure's node, its last lines and the command for the rest" {
    start failed 1 "$failing"
    run -3 batchai job wait "${scope[@]}" -n failed
    [[ $output == *$'Details:\n Node: n'[12]* ]]
    [ "$(grep -c 'Traceback: no such data' <<<"$output")" = 1 ]
    more=$(sed -n 's/^To see all of it: batchai //p' <<<"$output")
    [ "$more" = 'job file stream -g batchai.horovod -w batchaidev -e cifar -j failed -f stderr.txt' ]
    # shellcheck disable=SC2086 # words
    [[ $(batchai $more 2>/dev/null) == *'Traceback: no such data'* ]]
    batchai job show "${scope[@]}" -n failed >shown 2>said
    grep -q 'Traceback: no such data' said
    [[ $(jq -r '.executionInfo.errors[0].details[0] | .name, .value' shown) == $'Node\nn'[12] ]]
    batchai job show "${scope[@]}" -n failed --query executionState 2>said
    [ ! -s said ]
}

@test "job create --wait ends as the job does" {
    write_command waited.json 1 "$failing"
    run -3 --separate-stderr batchai job create "${scope[@]}" -n waited -f waited.json --storage-account-name a --wait
    [ "$(jq -r .executionState <<<"$output")" = queued ]
    [[ $stderr == *'Traceback: no such data'*'To see all of it: '* ]]
}

@test "a job that is over is shown as it was, without Slurm and without its record" {
    start kept 1 true
    batchai job wait "${scope[@]}" -n kept
    batchai job show "${scope[@]}" -n kept >before
    [ "$(jq -r '.slurm | .state, .partition' before)" = $'COMPLETED\nmini' ]
    mv "$(record)" "$work/away"
    for output in json yaml table; do
        as_alice env PATH=/nowhere "$BATCHAI_BUILD/bin/batchai" job list -o $output >"list.$output"
    done
    jq -e --slurpfile before before '. == $before' list.json
    grep -q '^  jobId: ' list.yaml || grep -q 'jobId: ' list.yaml
    grep -qE '^kept .* succeeded +0 ' list.table
}

@test "job create asks for whole nodes unless the policy says otherwise" {
    write_command shared.json 1 true
    create=(job create "${scope[@]}" -n shared -f shared.json --storage-account-name a --dry-run)
    batchai "${create[@]}" | grep -q -e ' --exclusive '
    sed '/^\[job\]/d' "$BATCHAI_POLICY" >shared.toml
    printf '[job]\nexclusive = false\n' >>shared.toml
    chmod 644 shared.toml
    BATCHAI_POLICY=$work/shared.toml run -0 batchai "${create[@]}" -- --ntasks-per-node=2
    [[ $output != *--exclusive* ]]
    [[ $output == *--ntasks-per-node=2* ]]
}

@test "on a terminal job create says in words what it submitted, and prints JSON where it is asked for" {
    write_command words.json 1 true
    create=(job create "${scope[@]}" -f words.json --storage-account-name a)
    as_alice python3 "$BATCHAI_SOURCE/tests/cluster/on_terminal.py" batchai "${create[@]}" -n words >said
    grep -qE "^Job words is Slurm's job [0-9]+: 1 node" said
    grep -q "^Output:  $share/out/.*/stdouterr\$" said
    $(sed -n 's/^Wait:    //p' said)
    as_alice python3 "$BATCHAI_SOURCE/tests/cluster/on_terminal.py" batchai "${create[@]}" -n json -o json >said
    jq -e '.name == "json"' said
    batchai job wait "${scope[@]}" -n json
}

@test "sbatch --batchai-job says where the output will be, and a test of a submission leaves no record" {
    write_command plain.json 1 'echo here'
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' plain.json
    before=$(submissions)
    # shellcheck disable=SC2016 # the job's variable
    as_alice sbatch --test-only -N 1 --batchai-job=plain.json --wrap true
    [ "$before" = "$(submissions)" ]
    # shellcheck disable=SC2016 # the job's variable
    submit_alice -N 1 -o out --batchai-job=plain.json --wrap 'exec batchai-launch --job "$BATCHAI_JOB_FILE"' 2>said
    [ "$(wait_job "$job")" = COMPLETED ]
    grep -q "^batchai: the job's output: $share/out/" said
    [ "$(cat "$(sed -n "s/^batchai: the job's output: //p" said)/stdout.txt")" = here ]
    [ "$(batchai job list --query '[].name | [0]' -o tsv)" = plain ]
}

@test "an argument of the user's script is not taken for an option of sbatch" {
    write_command plain.json 1 'echo here'
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' plain.json
    # shellcheck disable=SC2016 # the job's variable
    printf '#!/bin/sh\nexec batchai-launch --job "$BATCHAI_JOB_FILE"\n' >script
    chmod 755 script
    submit_alice -N 1 -o out --batchai-job=plain.json script --test-only --array=1 2>said
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat "$(sed -n "s/^batchai: the job's output: //p" said)/stdout.txt")" = here ]
}
