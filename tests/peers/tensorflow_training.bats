#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 1
# Trainings of TensorFlow and Keras in the environments that environments.sh makes; what is missing is skipped.

load ../cluster/lib
load frameworks

# restarted ENVIRONMENT WHAT: a rank dies in the middle; no step is lost or done twice, and nothing is left.
restarted() {
    check "$1" --restarts 1 -- tensorflow_elastic_check.py "$2"
    [[ $output == *"restart 1 of 1"* ]]
    [ -z "$(ls)" ]
}

@test "TensorFlow 2 does not wait for ranks that have joined, and batches of all ranks are normalized as one" {
    for version in $versions; do check "$version" -- tensorflow_training_check.py; done
}

@test "TensorFlow 1 does not wait for ranks that have joined, and combines steps by Adasum" {
    check tf1.8 -- tensorflow_training_check.py
}

@test "a training by Keras' fit() loses no step where a rank dies" {
    for version in $versions; do restarted "$version" fit; done
}

@test "a training of TensorFlow 1 loses no step where a rank dies" {
    restarted tf1.8 variables
}

@test "trainings of TensorFlow 2 in a loop of the script's own lose no step where a rank dies" {
    only_in_soak
    for version in $versions; do
        restarted "$version" loop
        restarted "$version" variables
    done
}
