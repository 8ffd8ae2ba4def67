#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What batchai tells about a job's preparation: how far it is.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

# create NAME NODES PREPARATION: submits a job file with that preparation.
create() {
    write_job "$1.json" "$2" "$3"
    batchai job create "${scope[@]}" -n "$1" -f "$1.json" --query slurmJobId
}

show() { batchai job show "${scope[@]}" -n "$@"; }

# The nodes' states, such as "n1 prepared n2 preparing".
is_at() { [ "$(show "$1" | jq -r '[.preparation[]? | .node, .state] | join(" ")')" = "$2" ]; }

@test "while nodes prepare, job show and job list say which, and for how long" {
    create slow 2 "[ \$(hostname) = n1 ] || until [ -e $work/go ]; do sleep 0.1; done"
    eventually is_at slow "n1 prepared n2 preparing"
    [ "$(show slow | jq '.preparation | map(.seconds >= 0) | all')" = true ]
    show slow -o table | grep -q '  preparing n2 ([0-9]* s)$'
    batchai job list -o table | grep -q '  preparing n2 ([0-9]* s)$'
    touch go
    batchai job wait "${scope[@]}" -n slow
    is_at slow "n1 prepared n2 prepared"
    run show slow -o table
    [[ $output != *[Pp]repar* ]]
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
    [ "$(show plain | jq '.preparation[0].seconds')" = null ]
}
