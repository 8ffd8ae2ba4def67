#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai-launch as a shell uses it: colours, a status line until the ranks start, Ctrl-C, Ctrl-Z, scripts.
# minislurm: none
#
# shellcheck disable=SC2154 # status and output are set by run

load lib

on_terminal() { timeout -k 2 60 "$BATCHAI_SOURCE/tests/cluster/on_terminal.py" batchai-launch --local "$@"; }

teardown() { [ -n "${BATS_TEST_COMPLETED-}" ] || echo "$output"; }

@test "labels have a colour for each rank, and the failure is red" {
    run -0 on_terminal 2 --label echo hello
    [[ $output = *'ESC[36m[0 '*'] ESC[0mhello'* ]]
    [[ $output = *'ESC[32m[1 '*'] ESC[0mhello'* ]]
    run -1 on_terminal 1 false
    grep -Eq '^ESC\[1;31mbatchai-launch: rank 0 on .* exited with code 1 after [0-9.]+ sESC\[0m$' <<<"$output"
}

@test "with NO_COLOR, or without a terminal, no escape sequence is written" {
    NO_COLOR=1 run -0 on_terminal 2 --label echo hello
    [[ $output = *hello* && $output != *ESC* ]]
    run -0 timeout 60 batchai-launch --local 2 --label echo hello
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
    run -0 on_terminal --job "$BATS_TEST_TMPDIR/job.json"
    [[ $output = *'batchai-launch: preparing: 0 of 2 nodes'*$'\rESC[K'* ]]
    [[ ${output##*preparing: ? of 2 nodes} = $'\rESC[K'* ]]
}

@test "Ctrl-Z stops the ranks and the processes that they have started, and fg continues them" {
    cat >"$BATS_TEST_TMPDIR/session.py" <<'END'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTSTP, signal.SIG_DFL)
launch = subprocess.Popen(["batchai-launch", "--local", "2", "--", "sh", "-c",
                           "sh -c 'until [ -e go ]; do sleep 0.1; done; echo gone on' & wait"], cwd=sys.argv[1])

def states():
    of_ranks = subprocess.run(["ps", "-eo", "stat=,args="], stdout=subprocess.PIPE, universal_newlines=True).stdout
    return [line[0] for line in of_ranks.splitlines() if line.split(None, 1)[1].startswith("sh -c") and "gone on" in line]

def wait_for(condition):
    while not condition():
        time.sleep(0.1)

wait_for(lambda: len(states()) == 4)
launch.send_signal(signal.SIGTSTP)
wait_for(lambda: states() == ["T"] * 4)
os.waitpid(launch.pid, os.WUNTRACED)
open(sys.argv[1] + "/go", "w").close()
time.sleep(0.5)
assert states() == ["T"] * 4
launch.send_signal(signal.SIGCONT)
sys.exit(launch.wait())
END
    run -0 timeout 60 /usr/bin/python3 "$BATS_TEST_TMPDIR/session.py" "$BATS_TEST_TMPDIR"
    [ "$(tail -n 2 <<<"$output")" = $'gone on\ngone on' ]
}

@test "a launch in the background of a script survives Ctrl-C, as its shell wants" {
    cd "$BATS_TEST_TMPDIR" || return
    # Such a shell ignores SIGINT and SIGQUIT for what it starts with "&". SIGQUIT asks for a report.
    run timeout 60 bash -c 'batchai-launch --local 1 sh -c "touch begun; until [ -e go ]; do sleep 0.1; done; echo ended" >out 2>&1 &
        until [ -e begun ]; do sleep 0.1; done
        kill -INT $!; kill -QUIT $!
        until grep -q "rank 0" out; do sleep 0.1; done
        touch go; wait $!'
    [ "$status" -eq 0 ]
    grep -qx ended out
}

@test "a script whose interpreter is missing, or that has Windows line ends, is not called missing" {
    cd "$BATS_TEST_TMPDIR" || return
    printf '#!/bin/bash\r\necho hello\r\n' >crlf.sh
    printf '#! /opt/none/python -u\n' >none.py
    chmod +x crlf.sh none.py
    run -126 timeout 60 batchai-launch --local 1 -n 1 ./crlf.sh
    [[ $output = *" could not be started: ./crlf.sh: its first line ends with a carriage return, as on Windows: "*" sed -i 's/\r$//' ./crlf.sh" ]]
    run -126 timeout 60 batchai-launch --local 1 -n 1 ./none.py
    [[ $output = *" could not be started: ./none.py: its interpreter /opt/none/python is missing on this node" ]]
}
