#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--soak] - installs what is missing, builds, and runs every test.
#
#   --soak   loops run long instead of twice, unit tests run under TSan too, clang-tidy reads every source, the
#            newest MPI libraries and PyTorch are fetched and tested (tests/peers/wheels.sh), and the plugin is
#            built and tested in Debian trixie and sid (tests/debian/run)
#
# On a new Debian 12 machine, as root or as a user who can sudo (for the packages only). Unit tests run
# under ASan and UBSan, and so do the fuzz targets, a minute each; cluster and peer tests run the release
# build on a throw-away Slurm.
# Exit: 0 if no test failed. A test that cannot run here is counted as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
    "") export BATCHAI_SOAK=0 ;;
    --soak) export BATCHAI_SOAK=1 ;;
    -h | --help)
        sed -n '3,12s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "run.sh: $1: unknown option, see --help" >&2
        exit 2
        ;;
esac

contrib/install-packages.sh test

build() { # preset kind-of-tests [option]
    cmake --preset "$1" -DBATCHAI_BUILD_TESTS="$2" "${@:3}" -Wno-dev >/dev/null
    cmake --build --preset "$1"
}

rc=0
build dev unit
ctest --preset dev -L 'unit|lint' -j 2 || rc=1
build fuzz fuzz
ctest --preset fuzz || rc=1
build release cluster -DBATCHAI_WERROR=ON
[ "$BATCHAI_SOAK" = 0 ] || tests/peers/wheels.sh mpi torch || echo "run.sh: the tests of what is not there are skipped" >&2
ctest --preset release -L 'cluster|peers|gpu' -j 4 || rc=1 # mostly they wait for Slurm
if [ "$BATCHAI_SOAK" = 1 ]; then
    build tsan unit
    setarch -R ctest --preset tsan -L unit || rc=1 # TSan's map of memory has no place for much randomness
    ctest --preset release -R cluster/network_faults --repeat until-fail:20 || rc=1 # too slow to loop where it stands
    for suite in trixie sid; do
        tests/debian/run "$suite" || [ $? = 77 ] || rc=1
    done
fi
exit $rc
