#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# flakes.sh [-n TIMES] [-p PRESET] [REGEX] - runs tests again and again beside busy cores, and prints which failed.
#
#   -n TIMES    of each test (default: 50)
#   -p PRESET   whose tests: release (default), dev or fuzz; it has to be built
#   REGEX       of ctest's names; without it, all: days
#
# Prints a table: test, runs, failures, skipped. What a failed run printed stays in build/flakes/.
# Exit: 0 if no run failed; 1; 2 wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "flakes.sh: $1" >&2
    exit 2
}

times=50 preset=release regex=
while [ $# -gt 0 ]; do
    case $1 in
        -n | -p)
            [ $# -ge 2 ] || die "$1: a value is missing, see --help"
            if [ "$1" = -n ]; then times=$2; else preset=$2; fi
            shift
            ;;
        -h | --help)
            sed -n '3,10s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        -*) die "$1: unknown option, see --help" ;;
        *) regex=$1 ;;
    esac
    shift
done
[[ $times =~ ^[1-9][0-9]*$ ]] || die "-n $times: not a number of times"
[ -e "build/$preset/CTestTestfile.cmake" ] || die "-p $preset: it is not built, see tests/README.md"

work=build/flakes
rm -rf "$work"
mkdir -p "$work"
busy=()
end_busy() { kill "${busy[@]}" 2>/dev/null || true; }
trap end_busy EXIT
for ((core = 0; core < $(nproc); ++core)); do
    (while :; do :; done) &
    busy+=($!)
done

for ((run = 1; run <= times; ++run)); do
    [ ! -t 2 ] || printf '\rrun %d of %d' "$run" "$times" >&2
    ctest --preset "$preset" ${regex:+-R "$regex"} -j 4 --output-junit "$PWD/$work/$run.xml" >"$work/$run.log" 2>&1 ||
        [ -s "$work/$run.xml" ] || die "ctest has run nothing: $(tail -n 1 "$work/$run.log")"
done
[ ! -t 2 ] || printf '\r' >&2

echo "| test | runs | failed | skipped |"
echo "|---|---|---|---|"
sed -nE 's/.*<testcase name="([^"]+)".* status="([a-z]+)".*/\1 \2/p' "$work"/*.xml | awk '
    { runs[$1]++; failed[$1] += $2 == "fail"; skipped[$1] += $2 == "notrun" || $2 == "disabled" }
    END { for (test in runs) printf "| %s | %d | %d | %d |\n", test, runs[test], failed[test], skipped[test] }' | sort
! grep -q 'status="fail"' "$work"/*.xml
