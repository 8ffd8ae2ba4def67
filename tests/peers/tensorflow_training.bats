#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# Trainings of TensorFlow and Keras in the environments that environments.sh makes; what is missing is skipped.

bats_require_minimum_version 1.5.0
load ../cluster/lib

# check ENVIRONMENT OPTION... -- SCRIPT ARGUMENT...: on two ranks of one machine; each says that it is fine.
check() {
    local python options=()
    peer_python "$1"
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    local script=$BATCHAI_SOURCE/tests/peers/$2
    shift 2
    cd "$BATS_TEST_TMPDIR" || return
    run timeout -k 2 200 batchai-launch --local 1 -n 2 "${options[@]}" -- "$python" "$script" "$@"
    [ "$status" -eq 0 ] && [ "$(grep -c 'of 2 is fine$' <<<"$output")" -eq 2 ] || { echo "$output" >&2 && false; }
}

# restarted ENVIRONMENT WHAT: a rank dies in the middle; no step is lost or done twice, and nothing is left.
restarted() {
    check "$1" --restarts 1 -- tensorflow_elastic_check.py "$2"
    [[ $output == *"restart 1 of 1"* ]]
    [ -z "$(ls)" ]
}

@test "TensorFlow 2 does not wait for ranks that have joined, and batches of all ranks are normalized as one" {
    check tf2.15 -- tensorflow_training_check.py
}

@test "TensorFlow 1 does not wait for ranks that have joined, and combines steps by Adasum" {
    check tf1.8 -- tensorflow_training_check.py
}

@test "a training by Keras' fit() loses no step where a rank dies" {
    restarted tf2.15 fit
}

@test "a training of TensorFlow 1 loses no step where a rank dies" {
    restarted tf1.8 variables
}

@test "trainings of TensorFlow 2 in a loop of the script's own lose no step where a rank dies" {
    [ "${BATCHAI_SOAK-}" = 1 ] || skip "in the long run only (--soak)"
    restarted tf2.15 loop
    restarted tf2.15 variables
}
