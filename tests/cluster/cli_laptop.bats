#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first minutes with a job file of one's own: without a site policy, with typos, on a machine without Slurm.
# minislurm: none

bats_require_minimum_version 1.5.0

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$PWD/home
    unset BATCHAI_POLICY
    [ ! -e /etc/batchai/batchai.toml ] || skip "this machine has a site policy"
    mkdir home data
    # shellcheck disable=SC2016 # the service's variables
    jq -n '{properties: {
        nodeCount: 1,
        customToolkitSettings: {commandLine: "cat $AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/input"},
        containerSettings: {imageSourceRegistry: {image: "tensorflow/tensorflow:1.8.0-gpu"}},
        stdOutErrPathPrefix: "$AZ_BATCHAI_MOUNT_ROOT/external",
        mountVolumes: {azureFileShares: [{
            azureFileUrl: "https://a.file.core.windows.net/myshare", relativeMountPath: "myshare"}]}}}' >job.json
    echo hello >data/input
}

local_run() {
    timeout 60 batchai job run --local -n job -f job.json --share myshare=data --share external=data \
        --image tensorflow/tensorflow:1.8.0-gpu=host
}

@test "a job file runs without a policy, and its outputs are found afterwards" {
    local_run
    [ "$(batchai job file stream -j job -f stdout.txt 2>/dev/null)" = hello ]
    [ "$(batchai job file list -j job --query '[?name==`"stdout.txt"`].contentLength' -o tsv)" = 6 ]
    [ -n "$(find data -name stdout.txt)" ]
}

@test "a script beside the job file is found" {
    jq '.properties |= (del(.customToolkitSettings) + {horovodSettings: {pythonScriptFilePath: "train.py", processCount: 1}})' job.json >horovod.json
    mv horovod.json job.json
    echo 'print("beside")' >train.py
    local_run
    [ "$(batchai job file stream -j job -f stdout.txt 2>/dev/null)" = beside ]
}

@test "a refusal for want of a policy entry prints one that is accepted" {
    touch empty.toml
    BATCHAI_POLICY=$PWD/empty.toml run -2 batchai job check job.json
    [[ $output == *"To allow it, add to $PWD/empty.toml:"* ]]
    sed '1,/^To allow it/d' <<<"$output" >pasted.toml
    BATCHAI_POLICY=$PWD/pasted.toml batchai job check job.json
}

@test "policy suggest writes a policy that the file passes" {
    batchai policy suggest job.json --share myshare="$PWD/data" --share external="$PWD/data" >suggested.toml
    grep -qx 'name = "tensorflow/tensorflow:1.8.0-gpu"' suggested.toml
    grep -qxF "source = \"$PWD/data\"" suggested.toml
    BATCHAI_POLICY=$PWD/suggested.toml batchai job check job.json
}

@test "a share that is not a directory here is refused, and so is a named policy that does not exist" {
    run -3 batchai job run --local -n job -f job.json --share myshare=nowhere
    [[ $output == *"--share myshare=nowhere: No such file or directory" ]]
    BATCHAI_POLICY=$PWD/none run -3 batchai job run --local -n job -f job.json
    [[ $output == *"site policy $PWD/none: No such file"* ]]
}

@test "an unknown word is named first, with the word that was probably meant" {
    run -2 batchai job craete -n x
    [[ $output == "batchai: craete: no such command of 'batchai job'; did you mean 'create'?"* ]]
    run -2 batchai job create --config-flie x
    [[ $output == "batchai: --config-flie: unknown option of 'batchai job create'; did you mean '--config-file'?"* ]]
    run -2 batchai job
    [[ $output == "batchai: batchai job: expected one of "* ]]
}

@test "batchai alone and batchai help print the help, in lines of 100 columns at most" {
    [ "$(batchai)" = "$(batchai --help)" ]
    [ "$(batchai help job create)" = "$(batchai job create --help)" ]
    batchai help | awk 'length($0) > 100 { print; bad = 1 } END { exit bad }'
}

@test "--query's columns are in its order, and a word in backquotes is a string" {
    /usr/bin/python3 -c 'import jmespath' 2>/dev/null || skip "python3-jmespath is not installed"
    batchai group create -n mygroup -l here
    echo 'open("ran", "w")' | tee json.py jmespath.py >/dev/null # as another user may leave them here
    [ "$(batchai group list --query '[0].name' -o tsv)" = mygroup ]
    [ "$(batchai group list --query '[].{where: location, name: name}' -o tsv)" = $'here\tmygroup' ]
    # shellcheck disable=SC2016 # JMESPath
    [ "$(batchai group list --query '[?location==`here`].[name, location]' -o TABLE)" = "Column1    Column2
---------  ---------
mygroup    here" ]
    run -2 batchai group list --query '[?location=`here`]'
    [[ $output == *"--query [?location=\`here\`]: not a JMESPath expression for this result: "* ]]
    [ ! -e ran ]
}
