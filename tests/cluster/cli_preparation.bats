#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What batchai tells about a job's preparation: how far it is, and why it failed.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

# create NAME NODES PREPARATION: submits a job file with that preparation.
create() {
    write_job "$1.json" "$2" "$3"
    batchai job create "${scope[@]}" -n "$1" -f "$1.json" --query slurm.jobId
}

show() { batchai job show "${scope[@]}" -n "$@"; }

# The nodes' states, such as "n1 prepared n2 preparing".
is_at() { [ "$(show "$1" | jq -r '[.slurm.preparation[]? | .node, .state] | join(" ")')" = "$2" ]; }

# fails_with NAME NODE PATTERN: the job fails with one line like the pattern, and it is the same, byte for byte, on the
# user's stderr, in the node's execution log and in job show.
fails_with() {
    run ! batchai job wait "${scope[@]}" -n "$1"
    show "$1" | jq -j '.executionInfo.errors[0].message' >shown
    # shellcheck disable=SC2053 # a pattern
    [[ $(cat shown) == $3 ]]
    echo >>shown
    cmp shown "$(record)"/slurm-*.out
    log=$(stdouterr)/execution
    [ -e "$log.log" ] || log+=-$2
    tail -n 1 "$log.log" | cut -c 21- | cmp shown -
    show "$1" | jq -r --arg node "$2" '.slurm.preparation[] | select(.node == $node and .state == "failed").message' | cmp shown -
}

@test "while nodes prepare, job show and job list say which, and for how long" {
    create slow 2 "[ \$(hostname) = n1 ] || until [ -e $work/go ]; do sleep 0.1; done"
    eventually is_at slow "n1 prepared n2 preparing"
    [ "$(show slow | jq '.slurm.preparation | map(.seconds >= 0) | all')" = true ]
    show slow -o table | grep -q '  preparing n2 ([0-9]* s)$'
    batchai job list -o table | grep -q '  preparing n2 ([0-9]* s)$'
    touch go
    batchai job wait "${scope[@]}" -n slow
    is_at slow "n1 prepared n2 prepared"
    run show slow -o table
    [[ $output != *[Pp]repar* ]]
}

@test "a preparation's command is not among the arguments of a process, without Slurm either" {
    needle=n33dle$RANDOM$RANDOM$RANDOM
    write_job local.json 1 "$(waiting_preparation $needle)"
    batchai job run --local "${scope[@]}" -n local -f local.json &
    eventually test -e "preparing.$(hostname)"
    run shown_in_ps "$needle"
    [ "$output" = "" ]
    touch go
    wait $!
}

@test "job wait says which nodes are preparing" {
    create waited 2 "[ \$(hostname) = n2 ] || until [ -e $work/go ]; do sleep 0.1; done"
    batchai job wait "${scope[@]}" -n waited --interval 0.2 2>said &
    waiting=$!
    eventually grep -qx 'Job preparation: preparing n1 ([0-9]* s)' said
    touch go
    wait "$waiting"
}

@test "a job without preparation has its mounts" {
    create plain 1 ""
    batchai job wait "${scope[@]}" -n plain
    is_at plain "n1 mounted"
    [ "$(show plain | jq '.slurm.preparation[0].seconds')" = null ]
}

@test "a preparation that fails is told with the same line everywhere" {
    create failing 2 "echo why >&2; [ \$(hostname) = n1 ] || exit 5"
    fails_with failing n2 "batchai: n2: job preparation failed with exit code 5; see /*/stderr-job_prep-n2.txt"
}

@test "a preparation that fails on the job's only node is told with the same line everywhere" {
    create failing 1 "exit 5"
    fails_with failing n1 "batchai: n1: job preparation failed with exit code 5; see /*/stderr-job_prep.txt"
}

@test "a preparation that takes too long is told with the same line everywhere" {
    sed -i 's/^\[job\]$/&\npreparation_timeout = 1/' "$BATCHAI_POLICY"
    create hanging 2 "[ \$(hostname) = n1 ] || sleep 1000"
    fails_with hanging n2 "batchai: n2: job preparation was stopped after 1 second, the site's limit; see /*"
    sed -i '/^preparation_timeout/d' "$BATCHAI_POLICY"
}

@test "a preparation that is killed is told with the same line everywhere" {
    create killed 2 "[ \$(hostname) = n1 ] || kill -9 \$PPID"
    fails_with killed n2 "batchai: n2: batchai-prep was ended by signal 9"
}

@test "a preparation that kills itself is told with the same line everywhere" {
    create suicide 2 "[ \$(hostname) = n1 ] || kill -9 \$\$"
    fails_with suicide n2 "batchai: n2: job preparation was ended by signal 9; see /*"
}

@test "a mount that is refused on the node is told with the same line everywhere" {
    write_job refused.json 2
    cp "$BATCHAI_POLICY" policy
    submit_alice -H -N 2 -o "$(alice_home)/refused.out" --batchai-job=refused.json --batchai-mount="$open:open" --wrap true
    sed -i "\\,^source = \"$open\"\$,s/open/elsewhere/" "$BATCHAI_POLICY"
    scontrol release "$job"
    [ "$(wait_job "$job")" = FAILED ]
    cat policy >"$BATCHAI_POLICY"
    mv "$(alice_home)/refused.out" "$(record)/slurm-0.out"
    scope=()
    fails_with "$job" n1 "batchai: n1: *$open*"
}

@test "job wait prints the output of a failed preparation" {
    create told 1 "echo early; echo no such package >&2; exit 3"
    run ! batchai job wait "${scope[@]}" -n told
    [[ $output == *$'last lines of its stderr:\n    no such package\n'* ]]
    [[ $output == *"To see all of it: batchai job file stream "*" -f stderr-job_prep.txt" ]]
    create both 2 "[ \$(hostname) = n1 ] || { echo not on n2 >&2; exit 3; }"
    run ! batchai job wait "${scope[@]}" -n both
    [[ $output == *"    not on n2"*" -f stderr-job_prep-n2.txt" ]]
}
