#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collectives_queue.sh [--json FILE] [--quick] [--rounds N] [--patience SECONDS] - what naming operations costs, and
#                      steps of training beside torch's DistributedDataParallel.
#
# On this machine, tests/bench/README.md has the definitions:
#   negotiation   a step of 160 named tensors of one number each, on 2 and on 8 ranks, with a schedule that is frozen and
#                 with one that never is, beside one bare allreduce of the same numbers
#   replay        the gradients of ResNet-50 and of BERT-base on 2 ranks of a node, and of ResNet-50 on 2 nodes with links of
#                 1 Gbit/s, with a backward pass that does nothing but compute: a step of DistributedOptimizer beside one of
#                 DistributedDataParallel with Gloo
# N rounds (default 3) of all in turn, each run begun when the machine is idle, or has not become so within the patience
# (default 20 s). --quick: one round, ResNet-50 on one node only. Prints tables of the rounds' medians; --json FILE also writes rows.
set -euo pipefail
case ${1-} in
    -h | --help) sed -n '3,15s/^# \{0,1\}//p' "$0" && exit ;;
esac
exec /usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/collectives/named.py" "$@"
