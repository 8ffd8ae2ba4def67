#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# TensorFlow and Keras in the environments that environments.sh makes; what is missing is skipped.

load ../cluster/lib
load frameworks

@test "Keras 2.1 on TensorFlow 1.8 trains, no rank's file is torn, and unused callbacks are told" {
    check tf1.8 -- keras1_check.py "$BATS_TEST_TMPDIR"
    [[ $output == *"never passed to fit(): the ranks started from different weights"* ]]
    [ "$(ls "$BATS_TEST_TMPDIR"/*.h5)" = "$BATS_TEST_TMPDIR/model.h5" ]
}

@test "variables, what assign() returns, and sparse tensors may be in every operation, in each TensorFlow" {
    for version in tf1.8 $versions; do
        check "$version" -- tensorflow_kinds_check.py
    done
}

@test "--compat tf1 runs the same script on today's TensorFlow, and says so" {
    check tf2.21 --compat tf1 -- keras1_check.py "$BATS_TEST_TMPDIR"
    [[ $output == *"compat tf1: TensorFlow 1's and Keras 2's names on TensorFlow 2."* ]]
}

@test "operations of TensorFlow 2 do not wait for one another in graphs; without libbatchai_tensorflow Python does the same" {
    export HOROVOD_LOG_LEVEL=debug
    for version in $versions; do
        check "$version" -- tensorflow_check.py "$BATS_TEST_TMPDIR/none"
        [[ $output == *"go through libbatchai_tensorflow.so"* ]]
        [[ $output == *"go through functions of Python: $BATS_TEST_TMPDIR/none not found"* ]]
    done
}

@test "Keras 3 on TensorFlow trains as one model, and no step fails by being compiled" {
    export KERAS_BACKEND=tensorflow
    check tf2.21 -- keras_check.py "$BATS_TEST_TMPDIR"
    [[ $output == *"jit_compile is off"* ]]
}

@test "Keras 3 on JAX and PyTorch trains as one model" {
    only_in_soak
    export KERAS_BACKEND=jax
    check tf2.21 -- keras_check.py "$BATS_TEST_TMPDIR"
    export KERAS_BACKEND=torch
    check keras-torch -- keras_check.py "$BATS_TEST_TMPDIR"
}
