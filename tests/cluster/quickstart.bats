#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# contrib/quickstart.sh: the walk-through's job from one command.
# minislurm: none

load lib

export BATS_TEST_TIMEOUT=$(often 900 280) # it trains a network

setup() {
    /usr/bin/python3 -c 'import torch, h5py' 2>/dev/null || skip "PyTorch or h5py is not installed"
    [ "$BATCHAI_BUILD" = "$BATCHAI_SOURCE/build/release" ] || skip "the quick start uses build/release"
    export BATCHAI_TEST_MARK=mark-$$-$RANDOM # in the environment of all that it starts
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || { grep -A7 'nodeStateCounts$' "$BATS_TEST_TMPDIR/out"; tail -n 40 "$BATS_TEST_TMPDIR/out"; }
}

started() { grep -lszF "BATCHAI_TEST_MARK=$BATCHAI_TEST_MARK" /proc/[0-9]*/environ; }

only_we_run() {
    local file
    for file in $(started); do
        [[ $(cat "${file%/*}/cmdline" 2>/dev/null | tr '\0' ' ') != *@(quickstart|slurm|train|batchai-launch|batchai\ job)* ]] || return 1
    done
}

# What a good run ends with.
good() {
    grep -q "^== the walk-through, trained with \(PyTorch\|Keras\) by /usr/bin/python3" "$1"
    grep -q '^state: *"succeeded"$' "$1"
    grep -q '^validation accuracy: *0\.[7-9]' "$1"
    grep -Eq '^stdout.txt +file +[1-9]' "$1"
    [ -s "$(sed -n 's/^model: *//p' "$1")" ]
}

# How many nodes had the job when the walk-through looked: each is still preparing, or is running already.
nodes_at_work() { awk '/"(preparing|running)NodeCount":/ { nodes += $2 } END { print nodes + 0 }' "$1"; }

@test "the walk-through's job runs on four nodes, also after runs that were killed at any moment" {
    local wait out=$BATS_TEST_TMPDIR/out
    for wait in 0.5 3 12; do
        "$BATCHAI_SOURCE/contrib/quickstart.sh" >"$out" 2>&1 3>&- &
        sleep $wait
        kill -KILL $!
        { wait $! || true; } 2>/dev/null
        deadline=20 eventually only_we_run
    done
    "$BATCHAI_SOURCE/contrib/quickstart.sh" >"$out" 2>&1
    good "$out"
    [ "$(nodes_at_work "$out")" = 4 ]
    local node
    for node in n1 n2 n3 n4; do grep -q "^execution-$node.log " "$out"; done
    deadline=20 eventually only_we_run
}

@test "where namespaces are not permitted the same file runs on this machine alone" {
    need_root
    local out=$BATS_TEST_TMPDIR/out
    setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$BATCHAI_SOURCE/contrib/quickstart.sh" >"$out" 2>&1
    grep -q "^minislurm: namespaces are not permitted here" "$out"
    grep -q '^\$ batchai job run --local ' "$out"
    good "$out"
}

@test "an unknown option is refused" {
    run -2 "$BATCHAI_SOURCE/contrib/quickstart.sh" --kepe
    [ "$output" = "quickstart.sh: --kepe: unknown option, see --help" ]
}

@test "a wrong framework or Python is refused before anything is installed" {
    run -2 "$BATCHAI_SOURCE/contrib/quickstart.sh" --framework caffe
    [ "$output" = "quickstart.sh: --framework: caffe: expected keras or torch" ]
    run -2 "$BATCHAI_SOURCE/contrib/quickstart.sh" --python python3
    [ "$output" = "quickstart.sh: --python: python3: expected the absolute path of a program, without blanks" ]
    printf '#!/bin/sh\n/usr/bin/python3 "$@"\nexit 1\n' >"$BATS_TEST_TMPDIR/python"
    chmod 755 "$BATS_TEST_TMPDIR/python"
    mkdir "$BATS_TEST_TMPDIR/here" && cd "$BATS_TEST_TMPDIR/here"
    echo 'open("ran", "w")' | tee csv.py torch.py importlib.py >/dev/null # as another user may leave them here
    run -2 "$BATCHAI_SOURCE/contrib/quickstart.sh" --framework keras --python "$BATS_TEST_TMPDIR/python"
    [[ $output = "quickstart.sh: --framework keras: $BATS_TEST_TMPDIR/python has no TensorFlow with Keras 3:"* ]]
    [ ! -e ran ]
}

@test "the walk-through's job trains with Keras where the Python has TensorFlow" {
    only_in_soak
    local python out=$BATS_TEST_TMPDIR/out
    peer_python tf2.21
    "$BATCHAI_SOURCE/contrib/quickstart.sh" --python "$python" >"$out" 2>&1
    grep -q "^== the walk-through, trained with Keras by $python\$" "$out"
    grep -q '^validation accuracy: *0\.[7-9]' "$out"
}

@test "a clone whose path has a blank is refused before anything is installed" {
    mkdir -p "$BATS_TEST_TMPDIR/a clone/contrib"
    cp "$BATCHAI_SOURCE/contrib/quickstart.sh" "$BATS_TEST_TMPDIR/a clone/contrib/"
    run -2 "$BATS_TEST_TMPDIR/a clone/contrib/quickstart.sh"
    [[ $output = "quickstart.sh: $BATS_TEST_TMPDIR/a clone: Slurm cannot load a plugin from a path with blanks"* ]]
}

# A copy whose build and packages are ours: each of the two waits until the other has begun.
stand_in() { # exit code of the packages, of the build
    local copy=$BATS_TEST_TMPDIR/copy
    mkdir -p "$copy/contrib/examples/tutorial"
    cp "$BATCHAI_SOURCE/contrib/quickstart.sh" "$copy/contrib/"
    touch "$copy/contrib/examples/tutorial/batchai.toml.in"
    printf '#!/bin/bash\n[ "$1" = run ] || exit 0; touch %s; until [ -e %s ]; do sleep 0.1; done; exit %s\n' \
        "$copy/installing" "$copy/building" "$1" >"$copy/contrib/install-packages.sh"
    printf '#!/bin/bash\ntouch %s; until [ -e %s ]; do sleep 0.1; done; exit %s\n' \
        "$copy/building" "$copy/installing" "$2" >"$copy/contrib/build.sh"
    printf '#!/bin/bash\necho the cluster\n' >"$copy/contrib/minislurm"
    chmod +x "$copy/contrib/"*
    run timeout 60 "$copy/contrib/quickstart.sh" --framework torch
}

@test "the build runs while packages that it does not need are installed" {
    stand_in 0 0
    [ "$status" = 0 ]
    [ "${lines[-1]}" = "the cluster" ]
}

@test "a build or packages that fail end the quick start with one line" {
    stand_in 0 1
    [ "$status" = 1 ]
    [ "${lines[-1]}" = "quickstart.sh: the build failed; the output above says why" ]
    rm -r "$BATS_TEST_TMPDIR/copy"
    stand_in 3 0
    [ "$status" = 1 ]
    [ "${lines[-1]}" = "quickstart.sh: packages are missing; the output above says why" ]
}

@test "an interrupted quick start waits for apt" {
    local copy=$BATS_TEST_TMPDIR/copy
    stand_in 0 0 # makes the copy
    printf '#!/bin/bash\n[ "$1" = run ] || exit 0; trap "" INT; touch %s; until [ -e %s ]; do sleep 0.1; done; touch %s\n' \
        "$copy/begun" "$copy/go" "$copy/done" >"$copy/contrib/install-packages.sh"
    printf '#!/bin/bash\nexec sleep 100\n' >"$copy/contrib/build.sh"
    # A terminal's Ctrl-C: to all of a process group. Jobs in the background of bash ignore it, unless they ask for it.
    setsid /usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
        "$copy/contrib/quickstart.sh" --framework torch >"$copy/out" 2>&1 3>&- &
    eventually test -e "$copy/begun"
    eventually pgrep -s "$!" -f 'sleep 100'
    kill -INT -- "-$!"
    eventually grep -q 'waiting for apt to end' "$copy/out"
    [ ! -e "$copy/done" ]
    touch "$copy/go"
    wait "$!" || true
    eventually test -e "$copy/done"
}

@test "a clone that was moved is built again where it is" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p first/contrib
    cp "$BATCHAI_SOURCE/contrib/build.sh" first/contrib/
    cat >first/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(small NONE)
add_custom_target(all_of_it ALL COMMAND ${CMAKE_COMMAND} -E echo "${PROJECT_SOURCE_DIR} ${LEVEL}" >made)
END
    cat >first/CMakePresets.json <<'END'
{ "version": 6, "configurePresets": [ { "name": "release", "binaryDir": "${sourceDir}/build/release" } ],
  "buildPresets": [ { "name": "release", "configurePreset": "release" } ] }
END
    first/contrib/build.sh release -DLEVEL=1
    grep -qx "$PWD/first 1" first/build/release/made
    first/contrib/build.sh release # its options are kept
    grep -qx "$PWD/first 1" first/build/release/made
    mv first second
    second/contrib/build.sh release -DLEVEL=2
    grep -qx "$PWD/second 2" second/build/release/made
}

@test "a user who may not install packages is shown the admin's command" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho 1000\n' >"$BATS_TEST_TMPDIR/bin/id"
    printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/bin/dpkg-query"
    chmod +x "$BATS_TEST_TMPDIR"/bin/*
    PATH=$BATS_TEST_TMPDIR/bin run -3 /bin/bash "$BATCHAI_SOURCE/contrib/install-packages.sh" build
    [[ ${lines[1]} = "apt-get install --no-install-recommends cmake g++ "* ]]
}
