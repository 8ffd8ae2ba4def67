#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh PRESET [CMAKE_OPTION]... - configures and builds into build/PRESET, also in a clone that was copied or moved.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
options=(--preset "$preset" -Wno-dev "${@:2}")
# A cache that was made in another folder names files of that one.
cache=build/$preset/CMakeCache.txt
[ ! -e "$cache" ] || [ "$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")" -ef . ] || options+=(--fresh)
cmake "${options[@]}" >/dev/null
# Compilers that are killed leave their files there, not in /tmp.
mkdir -p "build/$preset/tmp"
TMPDIR=$(mktemp -d "$PWD/build/$preset/tmp/XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
cmake --build --preset "$preset"
