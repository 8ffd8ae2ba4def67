#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# The tutorial's script for Keras, in an environment that environments.sh makes; without it all is skipped.

bats_require_minimum_version 1.5.0
load ../cluster/lib

setup() { peer_python tf2.21; }

# train ARGUMENT...: on two ranks.
train() {
    run --separate-stderr timeout -k 2 200 batchai-launch --local 1 -n 2 -- "$python" \
        "$BATCHAI_SOURCE/contrib/examples/tutorial/cifar_cnn_distributed_keras.py" --dir "$BATS_TEST_TMPDIR" "$@"
}

@test "the tutorial's Keras script trains on CIFAR-10's batches, and rank 0 alone saves the model" {
    "$python" - "$BATS_TEST_TMPDIR" <<'PY'
import pickle
import sys

import numpy as np

for name in ["data_batch_%d" % number for number in range(1, 6)] + ["test_batch"]:
    with open(sys.argv[1] + "/" + name, "wb") as file:
        pickle.dump({b"data": np.zeros((21, 3072), np.uint8), b"labels": [number % 10 for number in range(21)]}, file)
PY
    train --data "$BATS_TEST_TMPDIR" --epochs 3
    [ "$status" -eq 0 ] || { echo "$output" "$stderr" >&2 && false; }
    [ "${lines[0]}" = "x_train shape: (105, 32, 32, 3)" ]
    local rank
    for rank in 0 1; do grep -Eq "^Epoch 2/2 - rank $rank of 2 - [0-9]+s - loss: [0-9.]+ - acc: [0-9.]+$" <<<"$output"; done
    grep -Fx "Saved trained model at $BATS_TEST_TMPDIR/saved_models/keras_cifar10_trained_model.h5" <<<"$output"
    grep -Ex 'Test accuracy: [01]\.[0-9]+' <<<"$output"
    [ "$(ls "$BATS_TEST_TMPDIR/saved_models")" = keras_cifar10_trained_model.h5 ]
}

@test "the tutorial's Keras script refuses data that is not CIFAR-10's in one line" {
    train --data /nowhere
    [ "$status" -eq 1 ]
    [ "$(grep -c '^cifar_cnn_distributed_keras.py: .*/nowhere/data_batch_1' <<<"$stderr")" -eq 1 ]
}
