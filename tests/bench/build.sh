#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh [CMAKE_OPTION]... - the time of a clean release build without a compiler cache: wall and CPU seconds, and the
# ten sources that take the most CPU time.
#
# It builds in a temporary directory. CPU seconds compare better than wall seconds where other programs run.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1-} in
    -h | --help)
        sed -n '3,6s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
esac
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# Stands in ccache's place before each compiler command, which ends in the name of the source.
cat >"$tree/timed" <<'END'
#!/bin/bash
TIMEFORMAT='%U %S'
{ spent=$({ time "$@" >&3 2>&4; } 2>&1); } 3>&1 4>&2
rc=$?
echo "$spent ${!#}" >>"${0%/*}/sources"
exit $rc
END
chmod +x "$tree/timed"
cmake --preset release -B "$tree/build" -Wno-dev -DCCACHE_PROGRAM="$tree/timed" "$@" >/dev/null
TIMEFORMAT='%R s wall, %U s user and %S s system CPU time'
time CCACHE_DISABLE=1 cmake --build "$tree/build" >"$tree/output" || {
    tail -n 30 "$tree/output" >&2
    exit 1
}
awk '{ printf "%6.1f s  %s\n", $1 + $2, $3 }' "$tree/sources" | sed "s,$PWD/,,; s,$tree/build/,," | sort -rn | head -n 10
