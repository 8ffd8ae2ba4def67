#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collectives.sh [--json FILE] [--quick] [--topology T,...] [--operation NAME,...] [--library NAME,...]
#                [--sizes BYTES,...] [--bind core,none] [--rounds N] [--patience SECONDS] [--touch] - collective operations
#                on float32 beside other libraries', and beside what the machine could do.
#
# One driver, linked with each library, times calls (tests/bench/README.md has every definition) of allreduce, broadcast,
# allgather, reduce-scatter and all-to-all. N rounds (default 3) of the rooflines and all libraries in turn, each begun
# when the machine is idle, or has not become so within the patience (default 20 s):
#   1x2             two ranks on this machine
#   2x1             two nodes of one rank, network namespaces of this machine
#   2x2, 2x4, 4x2   nodes of several ranks, links of 1 Gbit/s
# --bind core: ranks are bound to cores; none: allreduces once more, where the kernel puts the ranks. --bind applies to
# all operations. A peer's run that takes longer than two minutes, crashes or gets a wrong result is a failure, counted for
# the sizes that it has not given; a run of ours or of a roofline ends the benchmark. --quick: allreduces, 1x2 and 2x2,
# three sizes, one round. --touch: between calls, ranks write what they send and read what they have got, as a program does;
# the times include that, the bound does not.
#
# Prints tables of microseconds a call: the fastest batch of all rounds (ranks bound to cores only), the mean of calls in a
# row, and our 99th percentile, with the bound in parts of our time. Rows that are more than 5 % behind a peer say so. Then
# what the libraries hold beyond the buffers. --json FILE also writes rows of {topology, operation, bind, bytes, library,
# usec, bound_fraction, calls, mean_usec, p99_usec, mean_bound_fraction, failures, memory_kib}.
# collectives/summary.py and plot.py read the tables. A library that is not installed has none:
# contrib/install-packages.sh test installs Debian's, and tests/peers/environments.sh fetches newer ones.
set -euo pipefail
case ${1-} in
    -h | --help) sed -n '3,24s/^# \{0,1\}//p' "$0" && exit ;;
esac
exec /usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/collectives/run.py" "$@"
