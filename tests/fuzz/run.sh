#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh PROGRAM NAME - feeds PROGRAM from corpus/NAME: for 20 seconds, or ten million inputs with BATCHAI_SOAK=1.
#
# The 20 seconds go the same way each time: what fails was not there before. With BATCHAI_SOAK=1 the way is new.
# Prints how many inputs it has tried. Exit: 0 if every promise was kept; what broke one stays in
# build/clang/found/ and is a file to give to PROGRAM again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=${1%/*}/../found
mkdir -p "$found" "$work/corpus"

limit=(-seed=1 -max_total_time="${BATCHAI_FUZZ_SECONDS:-20}")
[ "${BATCHAI_SOAK-0}" = 0 ] || limit=(-runs=10000000)
rc=0
"$1" "${limit[@]}" -max_len=8192 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/$2-" \
    -print_final_stats=1 -verbosity=0 "$work/corpus" "$here/corpus/$2" >"$work/log" 2>&1 || rc=$?
[ $rc = 0 ] || cat "$work/log"
echo "fuzz_$2: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log") inputs, $([ $rc = 0 ] && echo clean || echo "exit code $rc")"
exit $rc
