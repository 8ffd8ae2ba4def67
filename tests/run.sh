#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--soak] [--since REV] - installs what is missing, builds, and runs every test.
# run.sh --fast [ROOM]...       - what a change to one room needs: a build without sanitizers, the room's tests, lint.
#
#   --soak       loops run long instead of once or twice; unit tests run under TSan too; clang-tidy reads every source;
#                minislurm and the test harness are tested, too; the newest MPI libraries and PyTorch are fetched
#                and tested; run.sh and quickstart.sh run in the other one of Debian 12 and 13, and the plugin's tests
#                in sid (tests/debian/run); the packages are tested in a clean Debian 12 (tests/packages/run)
#   --since REV  clang-tidy reads the sources changed since this commit (default: HEAD~3)
#   --fast       rooms: sys, job, slurm, spank, launcher, cli, collectives, python; without one, those with
#                uncommitted changes, or else those of the last commit. Installs nothing. tests/README.md lists the tests.
#
# On a new Debian 12 or 13 machine, as root or as a user with sudo (for the packages only). Unit tests and the
# fuzz targets, 20 seconds each, are one build, by clang where it is installed, under ASan and UBSan. Cluster and
# peer tests run the release build on a throw-away Slurm. TensorFlow and Keras are fetched once, while that is built,
# into ~/.cache/batchai-peers (tests/peers/environments.sh, 2 GB); without a network their tests are skipped.
# Exit: 0 if no test failed; 1; 2 wrong usage. A test that cannot run here is counted as skipped, and listed with its
# reason before the last summary; tests/skipped.py lists them again.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "run.sh: $1" >&2
    exit 2
}

build() { contrib/build.sh "$1" -DBATCHAI_BUILD_TESTS="$2" "${@:3}"; } # preset kind-of-tests [option]

# changed_rooms: the rooms of uncommitted files, or else of the last commit's.
changed_rooms() {
    local files
    files=$(git status --porcelain | cut -c 4-)
    [ -n "$files" ] || files=$(git diff --name-only HEAD~1)
    sed -nE 's,^cli/.*,cli,p; t; s,^collectives/python/.*,python,p; t
             s,^tests/unit/([a-z]+)/.*,\1,p; t; s,^(sys|job|slurm|spank|launcher|collectives)/.*,\1,p' <<<"$files" | sort -u
}

# room_tests ROOM: a regular expression of ctest's names.
room_tests() {
    case $1 in
        sys) echo 'unit/sys|cluster/output_sharing' ;;
        job) echo 'unit/job|cluster/plugin_options' ;;
        slurm) echo 'unit/test_slurm|cluster/slurm_elsewhere' ;;
        spank) echo 'unit/spank_.*|cluster/plugin_(mounts|options|trust)' ;;
        launcher) echo 'unit/test_launcher|cluster/launch_(job|plugin|terminal)|peers/(openmpi|pmi1)' ;;
        cli) echo 'unit/cli_tests|cluster/cli_(local|names)' ;;
        collectives) echo 'unit/collectives.*|peers/(blocks|turns)' ;;
        python) echo 'unit/python_.*|peers/python_(one_rank|2_ranks)' ;;
        *) die "--fast: $1: no such room, see --help" ;;
    esac
}

fast() {
    local rooms pattern='lint/.*' room
    rooms=$*
    rooms=${rooms:-$(changed_rooms)}
    for room in $rooms; do pattern+="|$(room_tests "$room")"; done
    build debug 'unit;cluster'
    exec ctest --preset debug -R "^($pattern)\$" -j 2
}

soak=0 since=HEAD~3
while [ $# -gt 0 ]; do
    case $1 in
        --fast) shift && fast "$@" ;;
        --soak) soak=1 ;;
        --since)
            since=${2-}
            git rev-parse --verify --quiet "$since^{commit}" >/dev/null || die "--since: ${since:-nothing}: no such commit"
            shift
            ;;
        -h | --help)
            sed -n '3,19s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *) die "$1: unknown option, see --help" ;;
    esac
    shift
done
export BATCHAI_SOAK=$soak BATCHAI_TIDY_SINCE=$since
[ "$soak" = 0 ] || BATCHAI_TIDY_SINCE=

contrib/install-packages.sh test

# hold_summary: prints ctest's lines as they come (mawk would keep them back), and its summary into build/results/summary.
hold_summary() {
    local line held=
    : >build/results/summary
    while IFS= read -r line; do
        [[ $line != *"% tests passed, "* ]] || held=yes
        if [ "$held" ]; then
            printf '%s\n' "$line" >>build/results/summary
        else
            printf '%s\n' "$line"
        fi
    done
}

# counted LABEL CTEST_ARGUMENT...: runs ctest; its counts are added to $counts. The skipped tests of all runs are listed
# before the summary of the last one.
counts=
rm -rf build/results
mkdir -p build/results
counted() {
    local label=$1 report=$PWD/build/results/${1// /-}.xml failed=0
    ctest "${@:2}" --output-junit "$report" --test-output-size-passed 1000000 2>&1 | hold_summary || failed=1
    [[ $label != cluster* ]] || python3 tests/skipped.py || true
    cat build/results/summary
    counts+="${counts:+; }$label: $(sed -nE 's/^\t(tests|failures|skipped)="([0-9]+)"$/\2 \1/p' "$report" | paste -sd,)"
    return "$failed"
}

# Tests that need an environment that could not be made say so, and are skipped.
environments=(tf2.21)
[ "$soak" = 0 ] || environments+=(tf2.15 mpich openmpi impi-rt libucx debian torch)
timeout 600 tests/peers/environments.sh lint || true
timeout 1800 tests/peers/environments.sh "${environments[@]}" & # its network beside our compilers
making=$!
trap 'kill "$making" 2>/dev/null || true' EXIT

rc=0
processors=$(nproc)
if command -v clang++-14 >/dev/null; then
    build clang 'unit;fuzz'
    counted "unit and lint" --preset clang -L 'unit|lint' -j "$processors" || rc=1
    counted fuzz --preset clang -L fuzz -j 6 || rc=1
else
    build dev unit
    counted "unit and lint" --preset dev -L 'unit|lint' -j "$processors" || rc=1
    counts+="; fuzz: skipped, because clang-14 is not installed"
fi
build release cluster -DBATCHAI_WERROR=ON
wait "$making" || echo "run.sh: not all of ${environments[*]} could be made: their tests are skipped" >&2
making=
counted "cluster, peers and gpu" --preset release -L 'cluster|peers|gpu' -j $((processors + 2)) || rc=1 # most of them wait for Slurm
echo "run.sh: $counts"
if [ "$soak" = 1 ]; then
    build tsan unit
    setarch -R ctest --preset tsan -L unit || rc=1 # TSan's map of memory has no place for much randomness
    ctest --preset release -R cluster/network_faults --repeat until-fail:20 || rc=1 # too slow to loop in place
    tests/packages/run || [ $? = 77 ] || rc=1
    other=trixie
    [ "$(. /etc/os-release && echo "${VERSION_CODENAME-}")" != trixie ] || other=bookworm
    tests/debian/run "$other" --whole || [ $? = 77 ] || rc=1
    tests/debian/run sid || [ $? = 77 ] || rc=1
fi
exit $rc
