#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# TensorFlow and Keras in the environments that environments.sh makes; what is missing is skipped.

bats_require_minimum_version 1.5.0
load ../cluster/lib

options=()

# check ENVIRONMENT SCRIPT ARGUMENT...: on two ranks of one machine; each says that it is fine.
check() {
    local python script=$BATCHAI_SOURCE/tests/peers/$2
    peer_python "$1"
    shift 2
    run timeout -k 2 200 batchai-launch --local 1 -n 2 "${options[@]}" -- "$python" "$script" "$@"
    [ "$status" -eq 0 ] && [ "$(grep -c 'of 2 is fine$' <<<"$output")" -eq 2 ] || { echo "$output" >&2 && false; }
}

@test "Keras 2.1 on TensorFlow 1.8 trains, no rank's file is torn, and unused callbacks are told" {
    check tf1.8 keras1_check.py "$BATS_TEST_TMPDIR"
    [[ $output == *"never passed to fit(): the ranks started from different weights"* ]]
    [ "$(ls "$BATS_TEST_TMPDIR"/*.h5)" = "$BATS_TEST_TMPDIR/model.h5" ]
}

@test "--compat tf1 runs the same script on today's TensorFlow, and says so" {
    options=(--compat tf1)
    check tf2.21 keras1_check.py "$BATS_TEST_TMPDIR"
    [[ $output == *"compat tf1: TensorFlow 1's and Keras 2's names on TensorFlow 2."* ]]
}

@test "operations of TensorFlow 2 do not wait for one another in graphs; without libbatchai_tensorflow Python does the same" {
    export HOROVOD_LOG_LEVEL=debug
    check tf2.15 tensorflow_check.py "$BATS_TEST_TMPDIR/none"
    [[ $output == *"go through libbatchai_tensorflow.so"* ]]
    [[ $output == *"go through functions of Python: $BATS_TEST_TMPDIR/none not found"* ]]
}

@test "Keras 3 on TensorFlow trains as one model, and no step fails by being compiled" {
    export KERAS_BACKEND=tensorflow
    check tf2.21 keras_check.py "$BATS_TEST_TMPDIR"
    [[ $output == *"jit_compile is off"* ]]
}

@test "Keras 3 on JAX and PyTorch trains as one model" {
    [ "${BATCHAI_SOAK-}" = 1 ] || skip "in the long run only (--soak)"
    export KERAS_BACKEND=jax
    check tf2.21 keras_check.py "$BATS_TEST_TMPDIR"
    export KERAS_BACKEND=torch
    check keras-torch keras_check.py "$BATS_TEST_TMPDIR"
}
