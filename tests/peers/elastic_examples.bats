#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# The elastic examples for TensorFlow and Keras, in an environment that environments.sh makes; without it all is skipped.

bats_require_minimum_version 1.5.0
load ../cluster/lib

setup() {
    peer_python tf2.21
    mkdir "$BATS_TEST_TMPDIR/work" && cd "$BATS_TEST_TMPDIR/work" || return
    export OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3
}

# train OPTION... SCRIPT ARGUMENT...: on two ranks; stdout in $output, losses alone in $losses.
train() {
    local options=()
    while [[ $1 = -* ]]; do options+=("$1" "$2") && shift 2; done
    run --separate-stderr timeout -k 2 200 batchai-launch --local 1 -n 2 "${options[@]}" -- "$python" \
        "$BATCHAI_SOURCE/contrib/examples/elastic/$1" "${@:2}"
    [ "$status" -eq 0 ] || { echo "$output" "$stderr" >&2 && false; }
    losses=$(sort -k2n <<<"$output")
}

# goes_on SCRIPT ARGUMENT... --die-at N: the losses are those of a training without the last two words.
goes_on() {
    train --restarts 1 "$@"
    [[ $stderr == *"restart 1 of 1"* ]]
    [ -z "$(ls)" ]
    local interrupted=$losses
    train "${@:1:$#-2}"
    [ "$interrupted" = "$losses" ] || { echo "$interrupted, and uninterrupted: $losses" >&2 && false; }
}

@test "Keras' elastic example does not lose or repeat an epoch where a rank dies" {
    KERAS_BACKEND=tensorflow goes_on keras_elastic.py --epochs 3 --die-at 3
    [ "$(wc -l <<<"$losses")" -eq 3 ]
}

@test "TensorFlow's elastic example does not forget a commit where a rank dies" {
    [ "${BATCHAI_SOAK-}" = 1 ] || skip "in the long run only (--soak)"
    goes_on tensorflow_elastic.py --steps 40 --commit-every 10 --die-at 25
    [ "$(wc -l <<<"$losses")" -eq 4 ]
}
