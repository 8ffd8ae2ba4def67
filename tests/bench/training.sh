#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# training.sh [--json FILE] [--quick] [--rounds N] [--patience SECONDS] [--shapes NxR,...] [--only WORD,...] - steps of
#             training beside other libraries', for PyTorch, TensorFlow 2 and Keras 3.
#
# tests/bench/README.md has the definitions. By default: two ranks on this machine (1x2), and two nodes of two ranks with
# links of 1 Gbit/s (2x2; network namespaces of this machine). --shapes: some of 1x2, 2x1, 2x2 and 4x2. N rounds (default
# 3) of all in turn. Each run begins when the machine is idle, or at the latest after the patience (default 20 s):
#   resnet50, bert-base   the networks' gradients in a backward pass that only computes, and the walk-through's network
#   walk-through          (convolutions for CIFAR-10, batches of 32): DistributedOptimizer, DistributedDataParallel with Gloo
#                         and with the backend batchai, and a stock Horovod, with the system's PyTorch, where
#                         BATCHAI_STOCK_HOROVOD names one
#   eager, function, keras  the walk-through's network in TensorFlow 2's eager execution, in tf.function and by Keras 3's
#                         fit(): DistributedGradientTape or DistributedOptimizer, and MultiWorkerMirroredStrategy
# Without noise, no step is faster than either of two: "bound", which each run times, the step of one process without
# communication, on all ranks at once; and "wire", the gradients' time on a node's link. Where ranks occupy all processors,
# the processor time of communication ("cpu", PyTorch only) comes on top of the bound. A figure counts only if all ranks
# have the same weights in the end. A peer that fails or is not there has none; a failure of ours ends the benchmark.
# --quick: one round, 1x2 only. --only: some of the words resnet50 ... keras. Prints a table of the rounds' medians;
# --json FILE also writes rows. Nothing is asserted of the figures.
set -euo pipefail
case ${1-} in
    -h | --help) sed -n '3,23s/^# \{0,1\}//p' "$0" && exit ;;
esac
exec /usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/training/run.py" "$@"
