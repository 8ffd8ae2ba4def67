#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands of the user guide and the how-tos print what the pages show (tests/README.md).
# minislurm: -n 4 -g 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2030,SC2031,SC2154 # share is set by plugin.bash

bats_require_minimum_version 1.5.0
load cli

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    work=$(alice_home)/work
    as_alice mkdir "$work"
    cd "$work" || return
    export OMP_NUM_THREADS=1
    PATH=$BATCHAI_BUILD/bin:/usr/bin:$PATH
}

# page FILE: runs the commands of docs/FILE as alice.
page() {
    deadline=100 as_alice "$BATCHAI_SOURCE/tests/docs/run_page" --timeout 50 --show "$(alice_home)=/home/alice" "$BATCHAI_SOURCE/docs/$1"
}

# judged STATUS PAGE: run_page ends so with a page of these lines.
judged() {
    printf '%s\n' "${@:2}" >"$BATS_TEST_TMPDIR/page.md"
    run -"$1" "$BATCHAI_SOURCE/tests/docs/run_page" --show /nowhere=/somewhere "$BATS_TEST_TMPDIR/page.md"
}

@test "a page fails when a command prints something else, fails, or shows nothing of what it prints" {
    cd "$BATS_TEST_TMPDIR"
    judged 0 '```console' '$ echo one; echo two' 'one' 'two' '$ false' '$ echo $?' '1' '```'
    judged 1 '```console' '$ echo one; echo two' 'one' '```'
    [[ $output == *'page.md:2: echo one; echo two: printed something else'* ]]
    judged 1 '```console' '$ echo one' '```'
    judged 1 '```console' '$ false' '```'
    judged 2 'Text' '```console' 'output' '```'
    judged 2 '```console' '$ exit 0' '```'
}

@test "a page says what may differ" {
    cd "$BATS_TEST_TMPDIR"
    judged 0 '```console' '$ seq 9' '1' '...' '8' '9' '$ echo job 3 took 12 s for 4 MiB' 'job 4711 took 9.5 s for 20 KiB' '```'
    judged 1 '```console' '$ echo 3 ranks' '4 ranks' '```'
    judged 0 '```console' '$ echo Submitted batch job 3' 'Submitted batch job 4711' '$ echo =4711' '=3' '```'
    judged 0 '```console' '$ echo /nowhere/file' '/somewhere/file' '$ echo /somewhere | wc -c' '9' '```'
}

@test "a page's files are written before its commands, and what is not run is not run" {
    cd "$BATS_TEST_TMPDIR"
    judged 0 '<!-- file: say -->' '```sh' '#!/bin/sh' 'echo said' '```' '```console' '$ ./say' 'said' '```' \
        '<!-- not run: it fails -->' '' '```console' '$ false' '```'
    [[ $output == *'1 commands ran, 1 blocks are not run' ]]
}
