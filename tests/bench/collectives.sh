#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collectives.sh [--json FILE] [--svg FILE] [--quick] [--topology T,...] [--library NAME,...] [--sizes BYTES,...]
#                [--rounds N] [--patience SECONDS] - allreduces of float32 sums beside other libraries', and beside
#                what the machine could do.
#
# One driver, linked with each library, times calls back to back (docs/benchmarks.md has every definition). N rounds
# (default 3) of the rooflines and all libraries in turn, each begun when the machine is idle, or has not become so
# within the patience (default 20 s):
#   1x2             two ranks on this machine
#   2x1             two nodes of one rank, network namespaces of this machine
#   2x2, 2x4, 4x2   nodes of several ranks, links of 1 Gbit/s
# A peer's run that takes longer than a minute, crashes or gets a sum wrong is a failure, counted for the sizes that it
# has not given; a run of ours or of a roofline ends the benchmark. --quick: 1x2 and 2x2, three sizes, one round. Prints tables: microseconds a call, the best batch of all
# rounds, and the bound in parts of it; below, what the libraries hold beyond the buffers. --json FILE also writes rows
# of {topology, bytes, library, usec, bound_fraction, failures, memory_kib}, --svg FILE a plot. A library that is not
# installed has none.
set -euo pipefail
case ${1-} in
    -h | --help) sed -n '3,18s/^# \{0,1\}//p' "$0" && exit ;;
esac
exec /usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/collectives/run.py" "$@"
