# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # versions is for the tests; run sets output and status, peer_python python
#
# Scripts of TensorFlow and Keras on two ranks of one machine, in the environments that environments.sh makes; a test
# whose environment is missing is skipped. Load it after ../cluster/lib.

BATS_TEST_TIMEOUT=$(often 3000 280) # two ranks load TensorFlow
export BATS_TEST_TIMEOUT OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3

# In the long run also an older TensorFlow 2, whose Keras is that of version 2.
versions=$(often "tf2.21 tf2.15" tf2.21)

# on_two_ranks [OPTION]... -- SCRIPT [ARGUMENT]...: sets output, stderr and status.
on_two_ranks() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    run --separate-stderr timeout -k 2 200 batchai-launch --local 1 -n 2 "${options[@]}" -- "$python" "${@:2}"
}

# succeeds [OPTION]... -- SCRIPT [ARGUMENT]...
succeeds() {
    on_two_ranks "$@"
    [ "$status" -eq 0 ] || { echo "$output" "$stderr" >&2 && return 1; }
}

# An empty directory: bats leaves files in $BATS_TEST_TMPDIR.
enter_work() { mkdir -p "$BATS_TEST_TMPDIR/work" && cd "$BATS_TEST_TMPDIR/work" || return; }

# check ENVIRONMENT [OPTION]... -- SCRIPT [ARGUMENT]...: a script of tests/peers; each rank says that it is fine, on either
# output, which is set to both.
check() {
    local python options=()
    peer_python "$1"
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    enter_work
    succeeds "${options[@]}" -- "$BATCHAI_SOURCE/tests/peers/$1" "${@:2}" || return
    output+=$'\n'$stderr
    [ "$(grep -c 'of 2 is fine$' <<<"$output")" -eq 2 ] || { echo "$output" >&2 && return 1; }
}
