#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands of the user guide and the how-tos print what the pages show (tests/README.md).
# minislurm: -n 4 -g 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2030,SC2031,SC2154 # share is set by plugin.bash

load cli
load containers

BATS_TEST_TIMEOUT=$(often 3000 280) # ranks that load TensorFlow beside other tests
export BATS_TEST_TIMEOUT

# The site that the pages are about: a share, a cluster, images on the host and, where it is installed, in Charliecloud.
setup_file() {
    make_site
    cat >>"$BATCHAI_POLICY" <<TOML
[[image]]
name = "tensorflow/*"
run_on = "host"
[cluster.nc6cluster]
vm_size = "Standard_NC6"
gres = "gpu:1"
TOML
    has_charliecloud || return 0
    make_image
    charliecloud charliecloud >>"$BATCHAI_POLICY"
    printf '[[image]]\nname = "busybox*"\nrun_on = "charliecloud"\nimage = "%s"\n' "$image" >>"$BATCHAI_POLICY"
}

has_charliecloud() { command -v ch-run busybox >/dev/null && unshare --user --map-root-user --mount true 2>/dev/null; }

setup() {
    [ -x "$BATCHAI_BUILD/bin/batchai" ] || skip "batchai is not built"
    work=$(alice_home)/work
    as_alice mkdir "$work"
    user=(as_alice)
    cd "$work" || return
    export OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3
    PATH=$BATCHAI_BUILD/bin:/usr/bin:$PATH
}

forget_outputs() { rm -rf "$share"/{cifar,data,out} "$(alice_home)/.local" "$work"; }

# page FILE [SECONDS]: runs the commands of docs/FILE as $user, each in half of these seconds. With
# GUIDES_PRINT=DIRECTORY what they print is written there instead.
page() {
    # shellcheck disable=SC2034 # of lib.bash
    local deadline=${2-120}
    as_alice test -x "$(type -P python3)" || user=(timeout -k 2 "$deadline") # in a home directory that alice may not enter
    local command=("$BATCHAI_SOURCE/tests/docs/run_page" --timeout $((deadline / 2)) --show "$(alice_home)=/home/alice" --show "$share=/data/myshare"
        --show "$data=/data/images" "$BATCHAI_SOURCE/docs/$1")
    if [ -n "${GUIDES_PRINT-}" ]; then
        "${user[@]}" "${command[@]}" --print >"$GUIDES_PRINT/${1##*/}"
    else
        "${user[@]}" "${command[@]}"
    fi
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

@test "a block that would be skipped without a message is refused" {
    cd "$BATS_TEST_TMPDIR"
    judged 2 '~~~console' '$ false' '~~~'
    [[ $output == *'line 1: a block of code must begin with ``` in the first column' ]]
    judged 2 '- an item' '  ```console' '  $ false' '  ```'
    [[ $output == *'line 2: a block of code must begin with ``` in the first column' ]]
    judged 2 'Text' '' '    $ false'
    [[ $output == *'line 3: an indented block of code is not run: put it between lines ```' ]]
    judged 0 '- an item' '' '    its second paragraph' '' '```json' '    { }' '```'
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

@test "user-guide" {
    with_python torch
    page user-guide.md
}

@test "gpu-jobs" { page how-to/gpu-jobs.md; }

@test "python-environments" {
    with_python torch
    page how-to/python-environments.md
}

@test "containers" {
    has_charliecloud || skip "needs charliecloud-runtime, busybox-static and user namespaces"
    page how-to/containers.md
}

@test "data-on-shares" { page how-to/data-on-shares.md; }

@test "checkpoints-and-requeue" { page how-to/checkpoints-and-requeue.md; }

@test "elastic" {
    with_python torch
    page how-to/elastic.md
}

@test "debugging-a-hang" {
    with_python torch
    page how-to/debugging-a-hang.md
}

@test "watching-a-job" {
    with_python torch
    page how-to/watching-a-job.md
}

@test "old-keras-and-tensorflow-scripts" {
    with_python tf_keras tf2.21
    page how-to/old-keras-and-tensorflow-scripts.md 270
}

@test "torch-distributed" {
    with_python torch torch
    tell_torch_of_libuv
    page how-to/torch-distributed.md
}

@test "sweeps" { page how-to/sweeps.md; }

@test "every how-to is run, and is in the list of documents" {
    for file in "$BATCHAI_SOURCE"/docs/how-to/*.md; do
        grep -q "page how-to/${file##*/}" "$BATS_TEST_FILENAME"
        grep -qF "(how-to/${file##*/})" "$BATCHAI_SOURCE/docs/README.md"
    done
}
