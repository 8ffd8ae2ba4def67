#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# Programs in turn in the same ranks, each from init to finalize: `train && evaluate`.
# shellcheck disable=SC2016,SC2154 # expanded by the rank's shell; output and status are set by run

load ../cluster/lib
load ranks

setup() {
    check=$BATCHAI_BUILD/tests/peers/collectives_check
    deadline=60
    # Rank 1 is in its first program until rank 0 is in its second one, and a while longer.
    late='"$0" linger 1 "$1" && touch "$1" && exec "$0" again'
}

pmix_launch() { srun -Q "-N$1" -n "$2" "--ntasks-per-node=$(($2 / $1))" --mpi=pmix "${@:3}"; }
mpirun_launch() { # on one node
    local root=()
    [ "$(id -u)" != 0 ] || root=(--allow-run-as-root)
    timeout -k 2 "$deadline" mpirun "${root[@]}" --oversubscribe -n "$2" "${@:3}"
}

layouts() {
    printf '%s\n' "local_launch 1 2" "local_launch 2 4" "slurm_launch 2 4" "pmix_launch 1 2" "pmix_launch 2 4"
    [ -z "$(type -P mpirun)" ] || echo "mpirun_launch 1 2"
}

@test "a program of a rank is not given the addresses of the one before it" {
    while read -r -a layout; do
        run -0 "${layout[@]}" sh -c '"$0" again && "$0" places && exec "$0" again' "$check"
        [ "$(grep -c ' is fine$' <<<"$output")" -eq $((3 * layout[2])) ]
    done < <(layouts)
}

@test "a rank that is late to end its program does not break the next one of the others" {
    while read -r -a layout; do
        rm -f "$BATS_TEST_TMPDIR/next"
        run -0 "${layout[@]}" sh -c "$late" "$check" "$BATS_TEST_TMPDIR/next"
        [ "$(grep -c ' is fine$' <<<"$output")" -eq $((2 * layout[2])) ]
    done < <(layouts)
}

@test "a library that is loaded again says nothing, and is not given its own addresses of before" {
    while read -r -a layout; do
        run -0 "${layout[@]}" "$BATCHAI_BUILD/tests/peers/reload_check" "$BATCHAI_BUILD/lib/libbatchai_collectives.so"
        [ "$(grep -c ' is fine$' <<<"$output")" -eq "${layout[2]}" ]
        [[ $output != *UCX* ]] # "signal 11 was not set in ucs": UCX is not loaded again
    done < <(layouts)
}

# An MPI library that has asked PMIx for all ranks' keys already, the earlier program's among them.
@test "a program of a rank that uses MPI too is not given the addresses of the one before it" {
    local both=$BATCHAI_BUILD/tests/peers/both_check
    [ -x "$both" ] || skip "Open MPI's compiler is not installed"
    for layout in "local_launch 1 2" "slurm_launch 2 4"; do
        # shellcheck disable=SC2086 # words
        run -0 $layout sh -c '"$0" && exec "$0"' "$both"
        [ "$(grep -c ' is fine$' <<<"$output")" -eq $((2 * ${layout##* })) ]
    done
}
