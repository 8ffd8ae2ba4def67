#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The benchmarks run and say what they measured; how long anything takes is not asserted here.
# minislurm: none

@test "what the plugin costs a step is measured in one run" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    run timeout 60 "$BATCHAI_SOURCE/tests/bench/spank.sh" --jobs 2 --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$status" -eq 0 ]
    [[ $output = *"first step"*"without"*"unused"*"mounts"* ]]
    [ "$(jq -c 'map(.case)' "$BATS_TEST_TMPDIR/rows.json")" = '["without","unused","mounts_first","mounts_later"]' ]
    jq -e 'all(.median_ms > 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "what preparing all nodes adds to a job's start is measured in one run" {
    [ "$(id -u)" = 0 ] || skip "needs root, for real mounts"
    run timeout 60 "$BATCHAI_SOURCE/tests/bench/preparation.sh" --jobs 1 --nodes 2 --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$status" -eq 0 ]
    [[ $output = *"start of a job on 2 nodes"*"preparing adds "*" x one srun true" ]]
    jq -e 'map(.case) == ["start_without", "start_prepared", "srun_true"] and all(.median_ms > 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "what launchers take for programs that do nothing is measured in one run" {
    run timeout 110 "$BATCHAI_SOURCE/tests/bench/launch.sh" --runs 1 --program true --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$status" -eq 0 ]
    [[ $output = *"batchai-launch"*"srun-none"*"one node without Slurm: "*"memory of an agent, 1,024 ranks on 16: "* ]]
    jq -e 'map(select(.launcher == "batchai-launch"))
        | map([.program, .nodes, .ranks]) == [["true", 4, 8], ["true", 4, 32], ["true", 1, 8]] and all(.median_ms > 0 and .failures == 0)' \
        "$BATS_TEST_TMPDIR/rows.json"
}

@test "what many agents take is measured in one run, and taken further" {
    run timeout 110 "$BATCHAI_SOURCE/tests/bench/scale.sh" --runs 1 --most 4 --json "$BATS_TEST_TMPDIR/rows.json"
    [ "$status" -eq 0 ]
    [[ $output = *"the root: "*" ms for each agent"*"4096 agents: "*"not measured"*"no tree"* ]]
    jq -e 'map([.agents, .ranks]) == [[1, 1], [4, 4]] and all(.start_ms > 0 and .root_ms > 0 and .fence_ms > 0)' "$BATS_TEST_TMPDIR/rows.json"
}

@test "allreduces are measured beside another library's and beside the bound in one run" {
    run timeout 110 "$BATCHAI_SOURCE/tests/bench/collectives.sh" --quick --library batchai,openmpi-ob1 \
        --json "$BATS_TEST_TMPDIR/rows.json" --svg "$BATS_TEST_TMPDIR/plot.svg"
    [ "$status" -eq 0 ]
    [[ $output = *"1x2: 2 ranks on one node"*"bound"*"batchai"*"1 MiB"*"2x2: 2 nodes of 2 ranks, links of 1 Gbit/s"*"80%"* ]]
    jq -e 'map(select(.library == "batchai")) | map([.topology, .bytes]) == [["1x2", 8], ["1x2", 65536], ["1x2", 1048576],
        ["2x2", 8], ["2x2", 65536], ["2x2", 1048576]] and all(.usec > 0 and .bound_fraction > 0 and .failures == 0)' \
        "$BATS_TEST_TMPDIR/rows.json"
    [ "$(grep -c '<polyline' "$BATS_TEST_TMPDIR/plot.svg")" -ge 2 ]
}

@test "a benchmark's wrong argument is refused" {
    run "$BATCHAI_SOURCE/tests/bench/spank.sh" --jobs many
    [ "$status" -eq 2 ]
    [ "$output" = "spank.sh: --jobs many: expected 1 to 99999; see --help" ]
    run "$BATCHAI_SOURCE/tests/bench/preparation.sh" --nodes none
    [ "$status" -eq 2 ]
    [ "$output" = "preparation.sh: --nodes none: expected 1 to 99; see --help" ]
    run "$BATCHAI_SOURCE/tests/bench/scale.sh" --most 5
    [ "$status" -eq 2 ]
    [ "$output" = "scale.sh: --most 5: expected 4, 16 or 64; see --help" ]
    run "$BATCHAI_SOURCE/tests/bench/launch.sh" --program mpich
    [ "$status" -eq 2 ]
    [ "$output" = "launch.sh: --program mpich: expected true or mpi; see --help" ]
    run "$BATCHAI_SOURCE/tests/bench/collectives.sh" --topology 3x3
    [ "$status" -eq 2 ]
    [ "$output" = "collectives.sh: --topology 3x3: expected 1x2, 2x1, 2x2, 2x4, 4x2; see --help" ]
}
