# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # run sets output and status, the test file sets deadline
#
# Starts ranks for the tests of the collective library, and checks how they end. Load it after ../cluster/lib.

# Layouts: local_launch NODES RANKS, slurm_launch NODES RANKS. The ranks are divided evenly; the first nodes may have one
# more.
local_launch() { timeout -k 2 "$deadline" batchai-launch --local "$1" -n "$2" -- "${@:3}"; }
slurm_launch() { salloc --quiet "-N$1" batchai-launch -n "$2" -- "${@:3}"; }

# fine COUNT: COUNT ranks have succeeded, and there is no other output.
fine() {
    [ "$(grep -c ' is fine$' <<<"$output")" -eq "$1" ]
    ! grep -qv "^rank " <<<"$output"
}

# all_fine LAYOUT NODES RANKS COMMAND...
all_fine() {
    run "$@"
    [ "$status" -eq 0 ]
    fine "$3"
}

# --local runs on the login node, which assert_clean does not look at.
teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || show_logs
    assert_clean
    [ -z "$(ls -A /dev/shm)" ]
}
