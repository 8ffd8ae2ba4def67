#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# The examples for TensorFlow and Keras: the tutorial's script, and those that go on after a failure.

load ../cluster/lib
load frameworks

setup() {
    peer_python tf2.21
    enter_work
}

tutorial() { on_two_ranks -- "$BATCHAI_SOURCE/contrib/examples/tutorial/cifar_cnn_distributed_keras.py" --dir "$PWD" "$@"; }

@test "the tutorial's Keras script trains on CIFAR-10's batches, and rank 0 alone saves the model" {
    "$python" - "$PWD" <<'PY'
import pickle
import sys

import numpy as np

for name in ["data_batch_%d" % number for number in range(1, 6)] + ["test_batch"]:
    with open(sys.argv[1] + "/" + name, "wb") as file:
        pickle.dump({b"data": np.zeros((21, 3072), np.uint8), b"labels": [number % 10 for number in range(21)]}, file)
PY
    tutorial --data "$PWD" --epochs 3
    [ "$status" -eq 0 ] || { echo "$output" "$stderr" >&2 && false; }
    [ "${lines[0]}" = "x_train shape: (105, 32, 32, 3)" ]
    local rank
    for rank in 0 1; do grep -Eq "^Epoch 2/2 - rank $rank of 2 - [0-9]+s - loss: [0-9.]+ - acc: [0-9.]+$" <<<"$output"; done
    grep -Fx "Saved trained model at $PWD/saved_models/keras_cifar10_trained_model.h5" <<<"$output"
    grep -Ex 'Test accuracy: [01]\.[0-9]+' <<<"$output"
    [ "$(ls "$PWD/saved_models")" = keras_cifar10_trained_model.h5 ]
}

@test "the tutorial's Keras script refuses data that is not CIFAR-10's in one line" {
    tutorial --data /nowhere
    [ "$status" -eq 1 ]
    [ "$(grep -c '^cifar_cnn_distributed_keras.py: .*/nowhere/data_batch_1' <<<"$stderr")" -eq 1 ]
}

# goes_on SCRIPT ARGUMENT... --die-at N: $losses are those of a training without the last two words.
goes_on() {
    local script=$BATCHAI_SOURCE/contrib/examples/elastic/$1 interrupted
    succeeds --restarts 1 -- "$script" "${@:2}"
    [[ $stderr == *"restart 1 of 1"* ]]
    [ -z "$(ls)" ]
    interrupted=$(sort -k2n <<<"$output")
    succeeds -- "$script" "${@:2:$#-3}"
    losses=$(sort -k2n <<<"$output")
    [ "$interrupted" = "$losses" ] || { echo "$interrupted, and uninterrupted: $losses" >&2 && false; }
}

@test "Keras' elastic example does not lose or repeat an epoch where a rank dies" {
    KERAS_BACKEND=tensorflow goes_on keras_elastic.py --epochs 3 --die-at 3
    [ "$(wc -l <<<"$losses")" -eq 3 ]
}

@test "TensorFlow's elastic example does not forget a commit where a rank dies" {
    only_in_soak
    goes_on tensorflow_elastic.py --steps 40 --commit-every 10 --die-at 25
    [ "$(wc -l <<<"$losses")" -eq 4 ]
}
