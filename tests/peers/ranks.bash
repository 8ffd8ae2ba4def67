# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # output and status are set by run, deadline by who loads it
#
# How the tests of the collective library start ranks, and what they look at in the end. After ../cluster/lib.

# Layouts: local_launch NODES RANKS, slurm_launch NODES RANKS; the ranks are dealt out evenly, the first nodes get
# one more.
local_launch() { timeout -k 2 "$deadline" batchai-launch --local "$1" -n "$2" -- "${@:3}"; }
slurm_launch() { salloc --quiet "-N$1" batchai-launch -n "$2" -- "${@:3}"; }

# fine COUNT: so many ranks are content, and nothing was said but by ranks.
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
