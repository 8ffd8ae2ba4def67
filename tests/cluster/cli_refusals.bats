#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What batchai refuses before anything is submitted: exit code 2 and one line that says where and why.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

create() { echo job create "${scope[@]}" -n refused -f "$1"; }

# refuses FILE PATTERN: job create refuses the file, and so does job check if the mistake is not about the cluster.
refuses() {
    # shellcheck disable=SC2046 # words
    refused_with "$2" $(create "$1")
    [ "${3-}" = create-only ] || refused_with "${2#batchai: }" job check "$1"
}

# edited JQ_FILTER: a good job file, made worse.
edited() {
    write_job good.json 2
    jq "$1" good.json >bad.json
}

@test "a good file passes job check in silence" {
    write_job good.json 2
    run -0 batchai job check good.json
    [ -z "$output" ]
}

@test "a syntax error, with its line and column" {
    write_job bad.json 2
    sed -i 's/"nodeCount": 2,/"nodeCount": 2/' bad.json
    refuses bad.json 'batchai: bad.json:[0-9]*:[0-9]*: *'
}

@test "a wrong type" {
    edited '.properties.nodeCount = "2"'
    refuses bad.json 'batchai: bad.json:3:*properties.nodeCount*'
}

@test "every error is said, a line each" {
    edited '.properties.nodeCount = "2" | del(.properties.stdOutErrPathPrefix)'
    run -2 batchai job check bad.json
    [ "${#lines[@]}" = 2 ]
    [ "$(batchai job check bad.json --json | jq -r '.[].path' | sort)" = $'properties.nodeCount\nproperties.stdOutErrPathPrefix' ]
}

@test "an unknown share" {
    edited '.properties.mountVolumes.azureFileShares[0].azureFileUrl = "https://a.file.core.windows.net/other"'
    entry='[[share]]' refuses bad.json 'batchai: bad.json:*other*share*'
    entry='[[share]]' refused_with '*\[\[share\]\]*' storage share create --name other --account-name a
}

@test "a nodeCount larger than the cluster" {
    write_job bad.json 3
    refuses bad.json 'batchai: bad.json:3:*properties.nodeCount*' create-only
}

@test "a script that is not there, where the login node sees the share" {
    # shellcheck disable=SC2016 # the service's variable
    write_job bad.json 2 '' '$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/none.py'
    refuses bad.json 'batchai: bad.json:*none.py*'
}

@test "an unknown cluster, with what to do" {
    write_job good.json 2
    # shellcheck disable=SC2046 # words
    entry='[cluster.nc7]' refused_with '*\[cluster.nc7\]*' $(create good.json) -c nc7
}

@test "a cluster of the job file that is not known, and one that is" {
    write_job good.json 2
    for cluster in nc7 nc6cluster; do
        jq --arg id "/subscriptions/s/resourceGroups/g/providers/Microsoft.BatchAI/workspaces/w/clusters/$cluster" \
            '.properties.cluster = {id: $id}' good.json >$cluster.json
    done
    # shellcheck disable=SC2046 # words
    entry='[cluster.nc7]' refused_with '*\[cluster.nc7\]*--cluster or --partition*' $(create nc7.json)
    # shellcheck disable=SC2046
    batchai $(create nc6cluster.json) --dry-run >said
    grep -q -e '--gres=gpu:1' said
    # shellcheck disable=SC2046
    batchai $(create nc7.json) -c nc6cluster --dry-run >said
    grep -q -e '--gres=gpu:1' said
}

@test "a script that is a directory" {
    # shellcheck disable=SC2016 # the service's variable
    write_job bad.json 2 '' '$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code'
    refuses bad.json "batchai: bad.json:*myshare/code' is not a file there*"
}

@test "an interval or a target that is not a number is refused with the range" {
    refused_with "*--interval: must be a number from 0.2 to 86400, is 'inf'*" job wait -n x --interval inf
    refused_with "*--interval: must be a number from 0.2 to 86400, is 'nan'*" job wait -n x --interval nan
    refused_with "*--target: must be a number from 0 to 100000, is '-1'*" cluster create -n x -t -1
}

@test "every mistake of a site policy is said, a line each" {
    printf '[paths]\nmount_root = ""\n[job]\npyton = "x"\n' >policy.toml
    write_job good.json 2
    BATCHAI_POLICY=$work/policy.toml run -3 batchai job check good.json
    [ "${#lines[@]}" = 2 ]
    [[ ${lines[0]} == "batchai: $work/policy.toml:2:14: paths.mount_root: is empty" ]]
    [[ ${lines[1]} == "batchai: $work/policy.toml:4:9: job.pyton: unknown key; did you mean 'python'?" ]]
}

@test "the help of job check asks for the file once" {
    run -0 batchai job check --help
    [[ $output != *REQUIRED* ]]
    refused_with '*FILE is required*' job check
}

@test "a file that is not there, or is a snapshot already" {
    refuses none.json '*none.json: No such file or directory'
    refused_with '*no\\nne.json: No such file or directory' job check $'no\nne.json'
    start real 1 true
    batchai job wait "${scope[@]}" -n real
    # shellcheck disable=SC2046 # words
    refused_with '*snapshot*' $(create "$(record)/job.json")
}

@test "a name that is not valid" {
    write_job good.json 2
    refused_with '*is not a name*' job create -n ../x -f good.json
    refused_with "*'-x' is not a name*" job create -n -x -f good.json
    refused_with '*is not a name*' job create -n x -w ../../w -f good.json
    refused_with '*no such command*' job crate -n x
    refused_with '*required*' job create -n x
}

@test "a job of a name that is taken" {
    start twice 1 true
    before=$(submissions)
    run -1 start twice 1 true
    [[ $output == *"A job with given name, experiment, workspace and resource group already exists." ]]
    [ "$before" = "$(submissions)" ]
    batchai job wait "${scope[@]}" -n twice
}

@test "a refusal of Slurm, in Slurm's words, and the name stays free" {
    write_job good.json 2
    before=$(submissions)
    run -1 batchai job create "${scope[@]}" -n slurm -f good.json --time nonsense
    [ "${#lines[@]}" = 1 ]
    [[ $output == "batchai: sbatch: "*time* ]]
    [ "$before" = "$(submissions)" ]
}

@test "job create --dry-run prints the sbatch command and submits nothing" {
    write_job good.json 2
    before=$(submissions)
    # shellcheck disable=SC2046 # words
    run -0 batchai $(create good.json) -c nc6cluster -A project --dry-run
    [[ ${lines[0]} == "sbatch "*"--nodes=2"*"--gres=gpu:1 --comment=batchai:"*" --account=project"* ]]
    [ "$before" = "$(submissions)" ]
}

@test "an upload that would leave the share" {
    echo x >file
    before=$(find "$MINISLURM_DIR" -maxdepth 1 | sort)
    refused_with "*--path: '../file' must stay below the share*" storage file upload -s myshare --source file --path ../file
    refused_with "*--path: '../file' must stay below the share*" storage file download -s myshare --path ../file
    refused_with "*--path: '..' must stay below the share*" storage file list -s myshare --path ..
    refused_with "*--name: '../up' must stay below the share*" storage directory create -s myshare -n ../up
    refused_with "*--name: '' is not a name of a directory*" storage directory create -s myshare -n ''
    [ "$before" = "$(find "$MINISLURM_DIR" -maxdepth 1 | sort)" ]
}

@test "a download over a device, and each use of a FIFO" {
    echo x >file
    batchai storage file upload -s myshare --source file
    run -1 batchai storage file download -s myshare --path file --dest /dev/null
    [[ $output == *"not a regular file"* ]]
    [ -c /dev/null ]
    mkfifo fifo
    refuses fifo '*fifo: not a regular file'
    BATCHAI_POLICY=$work/fifo run -3 batchai job check file
    [[ $output == *"fifo: not a regular file" ]]
    run -1 batchai storage file upload -s myshare --source fifo
    [[ $output == *"not a regular file" ]]
}

@test "without a site policy nothing is done, and its path is named" {
    write_job good.json 2
    BATCHAI_POLICY=$work/none run -3 batchai job check good.json
    [[ $output == *"site policy $work/none: No such file or directory: set BATCHAI_POLICY to the site's, or to an empty file for none" ]]
}

@test "without Slurm job create says so" {
    write_job good.json 2
    need_root
    sinfo=$(type -P sinfo)
    # shellcheck disable=SC2016,SC2046 # the shell inside expands it; words
    run -3 unshare --mount bash -c 'mount --bind /dev/null "$0" && exec "$@"' "$sinfo" batchai $(create good.json)
    [[ $output == "batchai: sinfo: not on the PATH, and not in ${sinfo%/*}: load Slurm's module, or install its client commands" ]]
}

@test "Slurm's commands are those that the PATH has first, and are found without it" {
    local batchai=$BATCHAI_BUILD/bin/batchai
    mkdir -p mine
    printf '#!/bin/sh\nexec %s "$@"\n' "$(type -P sinfo)" >mine/sinfo
    chmod 755 mine/sinfo
    PATH=$PWD/mine:$PATH run -0 "$batchai" cluster list --debug
    [[ $output == *"batchai: runs $PWD/mine/sinfo "* ]]
    run -0 env PATH=/nowhere "$batchai" cluster list
    [[ $output == *nc6cluster* ]]
}

@test "without jmespath --query says what to install" {
    need_root
    run -3 unshare --mount sh -c 'mount -t tmpfs tmpfs /usr/lib/python3/dist-packages && PATH=/usr/bin exec "$0" group list --query x' "$BATCHAI_BUILD/bin/batchai"
    [[ $output == *"package python3-jmespath"* ]]
}

@test "a job's priority is an option of sbatch, unless the user gives one" {
    write_command low.json 1 true
    jq '.properties.schedulingPriority = "low"' low.json >job.json
    create=(job create "${scope[@]}" -n low -f job.json --storage-account-name a --dry-run)
    batchai "${create[@]}" 2>/dev/null | grep -q -e ' --nice=100 '
    for option in --nice=5 --qos=normal; do
        run ! grep -q -e --nice=100 < <(batchai "${create[@]}" -- "$option")
    done
    jq '.properties.schedulingPriority = "high"' low.json >job.json
    batchai "${create[@]}" 2>said >command
    grep -q "properties.schedulingPriority: ignored: there is no \[priority.high\]" said
    run ! grep -q -e --nice -e --qos command
    # Slurm has the job.
    jq '.properties.schedulingPriority = "low"' low.json >job.json
    job=$(batchai job create "${scope[@]}" -n low -f job.json --storage-account-name a --query slurm.jobId)
    [ "$(job_field "$job" Nice)" = 100 ]
    batchai job wait "${scope[@]}" -n low
}

@test "a file that is not there is named before a policy that is not there" {
    BATCHAI_POLICY=$work/none refused_with '*none.json: No such file or directory' job check none.json
    # shellcheck disable=SC2046 # words
    BATCHAI_POLICY=$work/none refused_with '*none.json: No such file or directory' $(create none.json)
    BATCHAI_POLICY=$work/none refused_with '*none.json: No such file or directory' job run --local -n x -f none.json
}

@test "the job file's time limit and priority do not override the user's, however sbatch's option is written" {
    write_command limit.json 1 true
    jq '.properties |= (.constraints = {maxWallClockTime: "PT1H"} | .schedulingPriority = "low")' limit.json >job.json
    create=(job create "${scope[@]}" -n limit -f job.json --storage-account-name a --dry-run)
    batchai "${create[@]}" 2>/dev/null | grep -q -e '--comment=batchai:[^ ]*/limit --nice=100 --time=0-01:00:00'
    for words in "-t 5" "-t5" "--time 5" "--time=5" "--tim=5"; do
        # shellcheck disable=SC2086 # words
        batchai "${create[@]}" -- $words >command
        run ! grep -q -e '--time=0-01' command
        grep -q -e " $words " command
    done
    for words in "--nice" "--nice=5" "--qos other" "-q other" "-qother"; do
        # shellcheck disable=SC2086 # words
        batchai "${create[@]}" -- $words >command
        run ! grep -q -e '--nice=100' command
    done
    # The options of both kinds reach sbatch.
    batchai "${create[@]}" --account a -- --comment=b | grep -q -e '--account=a --comment=b'
}

@test "an array is not submitted as one job, and a stray word is not handed to sbatch" {
    write_command array.json 1 true
    submit=(job create "${scope[@]}" -n array -f array.json --storage-account-name a)
    for words in "--array=0-2" "--array 0-2" "-a 0-2" "-a0-2"; do
        # shellcheck disable=SC2086 # words
        refused_with "batchai: --array: *'sbatch --array=... --batchai-job=FILE'" "${submit[@]}" -- $words
    done
    refused_with "batchai: 'extra': unexpected word: options of sbatch come after '--'" "${submit[@]}" extra
}

@test "a path that leads to nothing, or a variable that is misspelt, is refused wherever the job is submitted" {
    write_job good.json 1
    sed 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' good.json >filled.json
    spoil() { jq "$1" filled.json >job.json; }
    everywhere() {
        refused_with "*job.json:*: $1" job create "${scope[@]}" -n lost -f job.json
        refused_with "*job.json:*: $1" job check job.json
        run ! as_alice sbatch --test-only -N1 --batchai-job=job.json --wrap true
        # shellcheck disable=SC2053 # a pattern
        [[ $output == *job.json:*": "$1* ]]
    }
    spoil '.properties.stdOutErrPathPrefix = "/mnt/batch/tasks/shared/LS_root/mounts/myshare/out"'
    everywhere '*is a path of the service'"'"'s nodes: write $AZ_BATCHAI_MOUNT_ROOT/myshare/out'
    spoil '.properties.horovodSettings.pythonScriptFilePath = "$AZ_BATCHAI_JOBMOUNT_ROOT/myshare/a.py"'
    everywhere '*JOBMOUNT_ROOT is not set in this job: did you mean $AZ_BATCHAI_JOB_MOUNT_ROOT[?]'
    spoil '.properties.secrets = [{name: "TOKEN"}]'
    everywhere 'properties.secrets\[0\].value: required, but missing'
    spoil '.properties.horovodSettings.pythonScriptFilePath = "$AZ_BATCHAI_JOB_MOUNT_ROOT/scripts/a.py"'
    entry='[[cluster_volume]]' everywhere '*scripts/a.py* is on no volume of this job: *'
    # A command may not need the path: a warning.
    jq '.properties |= (del(.horovodSettings) | .customToolkitSettings = {commandLine: "ls $AZ_BATCHAI_JOB_MOUNT_ROOT/scripts"})' \
        filled.json >job.json
    batchai job check job.json 2>said
    grep -q "warning: properties.customToolkitSettings.commandLine: .*/scripts' is on no volume of this job" said
}

@test "a job that Slurm refuses leaves no record, no job and no group" {
    write_command good.json 1 true
    before=$(submissions)
    run -1 batchai job create -g fresh -n refused -f good.json --storage-account-name a -- --nodelist=nowhere
    [ "$(submissions)" = "$before" ]
    [ "$(batchai job list -g fresh)" = "[]" ]
    [[ $(batchai group list) != *fresh* ]]
}
