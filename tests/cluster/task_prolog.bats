#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# With batchai's TaskProlog, a job with --batchai-* options runs no task on a node without the plugin's line.
# minislurm: -n 2 -s "TaskProlog=$BATCHAI_SOURCE/etc/task-prolog"
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # status and output are set by run, data by plugin.bash

load plugin

setup() {
    need_root
    enter_work
    lacking=n2
}
lack() { on_node $lacking mount --bind /dev/null "$MINISLURM_DIR/etc/plugstack.conf"; }
have() { on_node $lacking umount "$MINISLURM_DIR/etc/plugstack.conf"; }
line="batchai: n2: the plugin is not active here: the node's plugstack.conf lacks its line"

@test "a step of srun does not run without its mounts, and says so in one line" {
    lack
    run as_alice srun -N2 -n4 --batchai-mount="$data:a:ro" true
    have
    [ "$status" -eq 1 ]
    [ "$(grep -c batchai: <<<"$output")" = 1 ]
    grep -qxF "$line" <<<"$output"
    run -0 as_alice srun -Q -N1 -w n2 --batchai-mount="$data:a:ro" test -e /run/batchai/mnt/a/file # with its line
}

@test "a batch job of that one node does not run either, and says so" {
    lack
    submit_alice -N1 -w n2 -o out --batchai-mount="$data:a:ro" --wrap 'touch started'
    state=$(wait_job "$job")
    have
    [ "$state" = FAILED ]
    [ "$(cat out)" = "$line"$'\nslurmstepd-n2: error: TaskProlog failed status=1' ]
    [ ! -e started ]
}

@test "a job without the plugin's options runs there" {
    lack
    run as_alice env asked=yes srun -Q -N2 -l hostname # a variable of this name is the user's
    have
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = $'0: n1\n1: n2' ]
}
