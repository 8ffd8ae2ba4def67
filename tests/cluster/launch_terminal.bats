#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai-launch on a terminal: colours, and a status line until the ranks start.
# minislurm: none
#
# shellcheck disable=SC2154 # status and output are set by run

bats_require_minimum_version 1.5.0
load lib

on_terminal() { timeout -k 2 60 "$BATCHAI_SOURCE/tests/cluster/on_terminal.py" batchai-launch --local "$@"; }

teardown() { [ -n "${BATS_TEST_COMPLETED-}" ] || echo "$output"; }

@test "labels have a colour for each rank, and the failure is red" {
    run on_terminal 2 --label echo hello
    [ "$status" -eq 0 ]
    [[ $output = *'ESC[36m[0 '*'] ESC[0mhello'* ]]
    [[ $output = *'ESC[32m[1 '*'] ESC[0mhello'* ]]
    run on_terminal 1 false
    [ "$status" -eq 1 ]
    grep -Eq '^ESC\[1;31mbatchai-launch: rank 0 on .* exited with code 1 after [0-9.]+ sESC\[0m$' <<<"$output"
}

@test "with NO_COLOR, or without a terminal, no escape sequence is written" {
    NO_COLOR=1 run on_terminal 2 --label echo hello
    [ "$status" -eq 0 ]
    [[ $output = *hello* && $output != *ESC* ]]
    run timeout 60 batchai-launch --local 2 --label echo hello
    [ "$status" -eq 0 ]
    [[ $output = *hello* && $output != *$'\033'* ]]
}

@test "while nodes prepare the job a line tells how many are ready, and is gone when they are" {
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/data BATCHAI_POLICY=$BATS_TEST_TMPDIR/batchai.toml
    mkdir "$BATS_TEST_TMPDIR/share"
    printf '[[share]]\nshare = "data"\nsource = "%s"\n' "$BATS_TEST_TMPDIR/share" >"$BATCHAI_POLICY"
    cat >"$BATS_TEST_TMPDIR/job.json" <<'END'
{ "properties": { "nodeCount": 2,
    "customToolkitSettings": { "commandLine": "echo hello" },
    "jobPreparation": { "commandLine": "sleep 1.5" },
    "stdOutErrPathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/d",
    "mountVolumes": { "azureFileShares": [ {
        "azureFileUrl": "https://account.file.core.windows.net/data", "relativeMountPath": "d" } ] } } }
END
    run on_terminal --job "$BATS_TEST_TMPDIR/job.json"
    [ "$status" -eq 0 ]
    [[ $output = *'batchai-launch: preparing: 0 of 2 nodes'*$'\rESC[K'* ]]
    [[ ${output##*preparing: ? of 2 nodes} = $'\rESC[K'* ]]
}
