#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A minimal client of PMI-1: lines over $PMI_FD, or over a connection to $PMI_PORT.
# pmi1_check exchange             put, barrier, and get each rank's value; twice
# pmi1_check leave RANK CODE      RANK exits before a barrier
# pmi1_check silent RANK CODE     RANK exits before it uses PMI-1, the others wait in a barrier
# pmi1_check abort RANK CODE
# pmi1_check say RANK LINE        RANK says LINE and prints the answer
set -euo pipefail

# ask LINE: sets answer.
ask() {
    printf '%s\n' "$1" >&"$PMI_FD"
    IFS= read -r -u "$PMI_FD" answer
}

# expect PATTERN LINE
expect() {
    ask "$2"
    # shellcheck disable=SC2053 # a pattern
    [[ $answer == $1 ]] || {
        echo "pmi1_check: '$2' was answered '$answer'" >&2
        exit 99
    }
}

exchange() {
    expect "cmd=put_result rc=0*" "cmd=put kvsname=$space key=$1.$PMI_RANK value=of rank=$PMI_RANK"
    expect "cmd=barrier_out*rc=0*" "cmd=barrier_in"
    local rank
    for ((rank = 0; rank < PMI_SIZE; rank++)); do
        expect "cmd=get_result rc=0 *value=of rank=$rank" "cmd=get kvsname=$space key=$1.$rank"
    done
}

chosen() { [ "$PMI_RANK" = "$1" ]; }

if [ -z "${PMI_FD-}" ]; then
    exec {PMI_FD}<>"/dev/tcp/${PMI_PORT/://}"
    # shellcheck disable=SC2153 # the launcher sets it
    expect "cmd=initack rc=0" "cmd=initack pmiid=$PMI_ID"
    for line in "cmd=set size=$PMI_SIZE" "cmd=set rank=$PMI_RANK" "cmd=set debug=0"; do
        IFS= read -r -u "$PMI_FD" answer
        [ "$answer" = "$line" ]
    done
fi
[ "$1" != silent ] || ! chosen "$2" || exit "$3"
expect "cmd=response_to_init *rc=0*" "cmd=init pmi_version=1 pmi_subversion=1"
expect "cmd=my_kvsname *kvsname=*" "cmd=get_my_kvsname"
space=${answer##*kvsname=}
case $1 in
    exchange)
        exchange first
        exchange second
        expect "cmd=get_result rc=-1 *" "cmd=get kvsname=$space key=third.0"
        ;;
    leave) ! chosen "$2" || exit "$3" ;;
    abort)
        if chosen "$2"; then
            printf 'cmd=abort exitcode=%s\n' "$3" >&"$PMI_FD"
            exit 0
        fi
        ;;
    say)
        if chosen "$2"; then
            ask "$3"
            echo "$answer"
        fi
        ;;
esac
expect "cmd=barrier_out*rc=0*" "cmd=barrier_in"
expect "cmd=finalize_ack*" "cmd=finalize"
echo "rank $PMI_RANK of $PMI_SIZE is fine"
