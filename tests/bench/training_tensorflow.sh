#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# training_tensorflow.sh [--rounds N] - what steps of training cost with TensorFlow 2 and Keras 3.
#
# Two ranks on this machine, N rounds (default 3) of all in turn. First the rows eager, function and keras of training.sh.
# Then what our operations cost a rank for each gradient: 160 gradients of four numbers, reduced by name as optimizers do,
# in tf.function, in eager execution and in PyTorch; wall-clock time less that of a step without communication. Prints the
# rounds' medians. TensorFlow and PyTorch are those of tests/peers/environments.sh tf2.21 torch. Nothing is asserted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BATCHAI_BUILD:-$here/../../build/release}
folder=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}
rounds=3

case ${1-} in
    -h | --help) sed -n '3,8s/^# \{0,1\}//p' "$0" && exit ;;
    --rounds) rounds=${2-} ;;
    '') ;;
    *)
        echo "training_tensorflow.sh: $1: unknown option; see --help" >&2
        exit 2
        ;;
esac
[[ $rounds =~ ^[1-9][0-9]?$ ]] || {
    echo "training_tensorflow.sh: --rounds: ${rounds:-no number}: expected 1 to 99" >&2
    exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# median FILE: of its numbers, a line each.
median() { sort -g "$1" | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int((NR + 2) / 2)]) / 2 }'; }

# cost ENVIRONMENT WAY: microseconds for a gradient.
cost() {
    OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 timeout -k 5 300 "$build/bin/batchai-launch" --local 1 -n 2 --bind none -- \
        "$folder/$1/bin/python" "$here/training/gradient_cost.py" "$2" 300 2>"$work/errors" | awk '$1 == "cost" { print $2; found = 1 } END { exit !found }' >>"$work/$2" || {
        cat "$work/errors" >&2
        echo "training_tensorflow.sh: gradient_cost.py $2 gave no figure in $folder/$1; its errors are above" >&2
        exit 1
    }
}

"$here/training.sh" --rounds "$rounds" --only eager,function,keras
for ((round = 0; round < rounds; ++round)); do
    cost torch torch
    cost tf2.21 function
    cost tf2.21 eager
done
echo "microseconds of a rank for each of 160 small gradients: medians of $rounds rounds, $(nproc) cores"
for way in torch function eager; do printf '%10s %8.1f\n' "$way" "$(median "$work/$way")"; done
