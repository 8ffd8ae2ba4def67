#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The benchmarks run and say what they measured; how long anything takes is not asserted here.
# minislurm: none

@test "what the plugin costs a step is measured in one run" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    run -0 timeout 60 "$BATCHAI_SOURCE/tests/bench/spank.sh" --jobs 2 --json "$BATS_TEST_TMPDIR/rows.json"
    [[ $output = *"first step"*"without"*"unused"*"mounts"* ]]
    [ "$(jq -c 'map(.case)' "$BATS_TEST_TMPDIR/rows.json")" = '["without","unused","mounts_first","mounts_later"]' ]
    jq -e 'all(.median_ms > 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "what preparing all nodes adds to a job's start is measured in one run" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    run -0 timeout 60 "$BATCHAI_SOURCE/tests/bench/preparation.sh" --jobs 1 --nodes 2 --json "$BATS_TEST_TMPDIR/rows.json"
    [[ $output = *"start of a job on 2 nodes"*"preparing adds "*" x one srun true" ]]
    jq -e 'map(.case) == ["start_without", "start_prepared", "srun_true"] and all(.median_ms > 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "what launchers take for programs that do nothing is measured in one run" {
    BATCHAI_PEERS=$BATS_TEST_TMPDIR run -0 timeout 110 "$BATCHAI_SOURCE/tests/bench/launch.sh" --runs 1 --program true --json "$BATS_TEST_TMPDIR/rows.json"
    [[ $output = *"batchai-launch"*"srun-none"*"one node without Slurm: "*"memory of an agent, 1,024 ranks on 16: "* ]]
    jq -e 'map(select(.launcher == "batchai-launch"))
        | map([.program, .nodes, .ranks]) == [["true", 4, 8], ["true", 4, 32], ["true", 1, 8]] and all(.median_ms > 0 and .failures == 0)' \
        "$BATS_TEST_TMPDIR/rows.json"
}

@test "what a view of a job costs its node is measured in one run" {
    /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "needs torch"
    run -0 timeout 110 "$BATCHAI_SOURCE/tests/bench/top.sh" --ranks 2 --seconds 2 --rounds 1
    [[ $output = *"agent, %"*$'\nwithout '*$'\nwith '* ]]
}

@test "what many agents take is measured in one run, and taken further" {
    run -0 timeout 110 "$BATCHAI_SOURCE/tests/bench/scale.sh" --runs 1 --most 4 --json "$BATS_TEST_TMPDIR/rows.json"
    [[ $output = *"the root: "*" ms for each agent"*"4096 agents: "*"not measured"*"no tree"* ]]
    jq -e 'map([.agents, .ranks]) == [[1, 1], [4, 4]] and all(.start_ms > 0 and .root_ms > 0 and .fence_ms > 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "allreduces are measured beside another library's and beside the bound in one run" {
    run timeout 110 "$BATCHAI_SOURCE/tests/bench/collectives.sh" --quick --library batchai,openmpi-ob1 \
        --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$status" -eq 0 ]
    [[ $output = *"1x2: 2 ranks on one node"*"bound"*"batchai"*"1 MiB"*"2x2: 2 nodes of 2 ranks, links of 1 Gbit/s"*"80%"* ]]
    jq -e 'map(select(.library == "batchai") | [.topology, .bind, .bytes]) == [["1x2", "core", 8], ["1x2", "core", 65536],
        ["1x2", "core", 1048576], ["1x2", "none", 8], ["1x2", "none", 65536], ["1x2", "none", 1048576], ["2x2", "core", 8],
        ["2x2", "core", 65536], ["2x2", "core", 1048576], ["2x2", "none", 8], ["2x2", "none", 65536], ["2x2", "none", 1048576]]' \
        "$BATS_TEST_TMPDIR/rows.json"
    jq -e 'map(select(.library == "batchai")) | all(.mean_usec > 0 and .p99_usec > 0 and .failures == 0) and
        (map(select(.bind == "core")) | all(.usec > 0 and .bound_fraction > 0))' "$BATS_TEST_TMPDIR/rows.json"
    printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/tables.txt"
    run -0 "$BATCHAI_SOURCE/tests/bench/collectives/summary.py" "$BATS_TEST_TMPDIR/tables.txt"
    [[ ${lines[0]} = "| | 1x2 allreduce | 2x2 allreduce |" && ${lines[2]} =~ ^"| 8 B | "[0-9]+" %, ".*" | "[0-9]+" %, " ]]
    run -0 "$BATCHAI_SOURCE/tests/bench/collectives/plot.py" "$BATS_TEST_TMPDIR/tables.txt"
    [ "$(grep -c '<polyline' <<<"$output")" = 4 ] # two libraries, two topologies
    [ "$(grep -c 'class="head"' <<<"$output")" = 2 ]
}

@test "the other operations are measured beside another library's and beside their bounds" {
    run timeout 110 "$BATCHAI_SOURCE/tests/bench/collectives.sh" --quick --topology 1x2,2x2 --library batchai,openmpi-ob1 \
        --operation broadcast,allgather,reduce-scatter,all-to-all --sizes 64,65536 --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$status" -eq 0 ]
    jq -e 'map(select(.library == "batchai" and .topology == "2x2") | [.operation, .bytes]) == [["broadcast", 64],
        ["broadcast", 65536], ["allgather", 64], ["allgather", 65536], ["reduce-scatter", 64], ["reduce-scatter", 65536],
        ["all-to-all", 64], ["all-to-all", 65536]]' "$BATS_TEST_TMPDIR/rows.json"
    jq -e 'all(.usec > 0 and .bound_fraction > 0 and .failures == 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "tables are made anew by their commands, except those whose command fails" {
    local folder=$BATS_TEST_TMPDIR/tables
    mkdir "$folder"
    printf '%s\n' '$ echo new' machine '' old >"$folder/made.txt"
    printf '%s\n' '$ echo half; exit 3' stays >"$folder/fails.txt"
    printf '%s\n' 'without a command' stays >"$folder/kept.txt"
    run -1 "$BATCHAI_SOURCE/tests/bench/all.sh" --folder "$folder"
    [[ $output = *"all.sh: echo half; exit 3 failed after "*" s; its figures stay"* ]]
    mapfile -t lines <"$folder/made.txt"
    [ "${lines[0]}" = '$ echo new' ]
    [[ ${lines[1]} = *" cores of "*"; load "*" before the run." ]]
    [ "${lines[*]:2}" = " new" ]
    [ "$(<"$folder/fails.txt")" = $'$ echo half; exit 3\nstays' ]
    [ "$(<"$folder/kept.txt")" = $'without a command\nstays' ]
    run "$BATCHAI_SOURCE/tests/bench/all.sh" --folder "$folder" --list half
    [ "$output" = "echo half; exit 3" ]
}

@test "a benchmark whose program is missing names the command that builds it" {
    export BATCHAI_BUILD=$BATS_TEST_TMPDIR/build
    local program
    for program in collectives.sh:tests/bench/batchai collectives_queue.sh:tests/bench/queue launch.sh:bin/batchai-launch \
        collectives_scale.sh:tests/bench/model training.sh:bin/batchai-launch; do
        run -2 "$BATCHAI_SOURCE/tests/bench/${program%:*}"
        [ "$output" = "${program%:*}: $BATCHAI_BUILD/${program#*:}: not built: contrib/build.sh release -DBATCHAI_BUILD_TESTS=cluster builds it; see --help" ]
    done
}

# A benchmark that must end with one line like the pattern, without a figure.
fails_with() { # PATTERN COMMAND...
    local pattern=$1
    shift
    run timeout 100 "$@" --json "$BATS_TEST_TMPDIR/rows.json"
    echo "$output"
    [ "$status" -eq 1 ]
    output=$(grep -v ' is not installed: what needs it has no row$' <<<"$output")
    [ "$(wc -l <<<"$output")" -eq 1 ]
    # shellcheck disable=SC2053 # a pattern
    [[ $output = $pattern ]]
    [ ! -e "$BATS_TEST_TMPDIR/rows.json" ]
}

# a_program PATH LINE...: a shell script in the test's directory, as PATH.
a_program() {
    local path=$BATS_TEST_TMPDIR/$1
    mkdir -p "${path%/*}"
    printf '#!/bin/sh\n' >"$path"
    printf '%s\n' "${@:2}" >>"$path"
    chmod 755 "$path"
}

@test "a step that fails is not timed as the plugin's cost" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    cd "$BATS_TEST_TMPDIR"
    a_program bin/srun 'echo "srun: error: refused" >&2' 'exit 3'
    PATH=$BATS_TEST_TMPDIR/bin:$PATH fails_with "spank.sh: a job of the kind 'without' failed: srun: error: refused" \
        "$BATCHAI_SOURCE/tests/bench/spank.sh" --jobs 1
}

@test "a job whose mounts are missing is not timed as one that has them" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    cd "$BATS_TEST_TMPDIR"
    # As on a node without the plugin.
    a_program bin/salloc 'for word; do shift; case $word in --batchai-*) ;; *) set -- "$@" "$word" ;; esac; done' \
        "exec $(command -v salloc) \"\$@\""
    PATH=$BATS_TEST_TMPDIR/bin:$PATH fails_with "spank.sh: a job of the kind 'mounts' failed: *" \
        "$BATCHAI_SOURCE/tests/bench/spank.sh" --jobs 1
}

@test "a job that fails is not timed as the start of a job" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    cd "$BATS_TEST_TMPDIR"
    a_program bin/srun 'echo "srun: error: refused" >&2' 'exit 3'
    PATH=$BATS_TEST_TMPDIR/bin:$PATH fails_with "preparation.sh: a job of the kind 'without' failed: srun: error: refused" \
        "$BATCHAI_SOURCE/tests/bench/preparation.sh" --jobs 1 --nodes 1
}

@test "a launch that fails is not timed" {
    export BATCHAI_BUILD=$BATS_TEST_TMPDIR/build
    a_program build/bin/batchai-launch 'echo "batchai-launch: no" >&2' 'exit 3'
    fails_with "scale.sh: batchai-launch true, 1 agents, 1 ranks: exit code 3: batchai-launch: no" \
        "$BATCHAI_SOURCE/tests/bench/scale.sh" --runs 1 --most 4
    cd "$BATS_TEST_TMPDIR"
    fails_with "launch.sh: true.4.8.batchai-launch: exit code 3: batchai-launch: no" \
        "$BATCHAI_SOURCE/tests/bench/launch.sh" --runs 1 --program true
}

@test "an allreduce that fails has no figure, although it has printed one" {
    export BATCHAI_BUILD=$BATS_TEST_TMPDIR/build
    a_program build/bin/batchai-launch 'echo result 8 1 1 1.0' 'echo queue 2 160 1.0 1.0 1.0' 'echo "wrong sum" >&2' 'exit 3'
    a_program build/tests/bench/batchai
    a_program build/tests/bench/queue
    a_program build/tests/bench/roofline 'echo flag 0.1'
    fails_with "collectives.sh: 1x2: batchai: allreduce: exit code 3: wrong sum" \
        "$BATCHAI_SOURCE/tests/bench/collectives.sh" --quick --topology 1x2 --library batchai --patience 0
    fails_with "collectives_queue.sh: *batchai-launch *: exit code 3: wrong sum" \
        "$BATCHAI_SOURCE/tests/bench/collectives_queue.sh" --quick --patience 0
    a_program build/tests/bench/model 'echo "model: no" >&2' 'exit 3'
    run -1 "$BATCHAI_SOURCE/tests/bench/collectives_scale.sh"
    [[ $output = "collectives_scale.sh: "*"exit code 3"* ]]
}

@test "a benchmark's wrong argument is refused" {
    run -2 "$BATCHAI_SOURCE/tests/bench/spank.sh" --jobs many
    [ "$output" = "spank.sh: --jobs many: expected 1 to 99999; see --help" ]
    run -2 "$BATCHAI_SOURCE/tests/bench/preparation.sh" --nodes none
    [ "$output" = "preparation.sh: --nodes none: expected 1 to 99; see --help" ]
    run -2 "$BATCHAI_SOURCE/tests/bench/scale.sh" --most 5
    [ "$output" = "scale.sh: --most 5: expected 4, 16, 64 or 256; see --help" ]
    run -2 "$BATCHAI_SOURCE/tests/bench/launch.sh" --program mpich
    [ "$output" = "launch.sh: --program mpich: expected true, mpi, openmpi5, mpich5 or impi; see --help" ]
    run -2 "$BATCHAI_SOURCE/tests/bench/collectives.sh" --topology 3x3
    [ "$output" = "collectives.sh: --topology 3x3: expected 1x2, 2x1, 2x2, 2x4, 4x2; see --help" ]
}
