#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/guest/guest: one command on a kernel of its own.
# minislurm: none
# needs: guest

load lib

# A guest's processes, and no other, carry the mark in their environment.
setup() { mark=mark-$$-$RANDOM; }
guest() { BATCHAI_TEST_MARK=$mark timeout -k 2 100 "$BATCHAI_SOURCE/tests/guest/guest" "$@"; }
nothing_runs() { ! grep -lszF "BATCHAI_TEST_MARK=$mark" /proc/[0-9]*/environ; }

teardown() { [ -n "${BATS_TEST_COMPLETED-}" ] || echo "${output-}"; }

@test "a command in a guest has its arguments, its directory and its environment, and its exit code is passed on" {
    cd "$BATCHAI_SOURCE/tests"
    run -7 guest -- bash -c 'echo "$1" "$BATCHAI_TEST_MARK"; pwd; echo error >&2; exit 7' - "it's  quoted"
    [ "$output" = "it's  quoted $mark"$'\n'"$BATCHAI_SOURCE/tests"$'\nerror' ]
}

@test "a guest's kernel has NFS, CIFS and both cgroups, and its root cannot write to this machine's files" {
    run -1 guest -- bash -c 'for module in nfsv4 cifs overlay; do modprobe -d /run/modules $module; done; cat /proc/filesystems; : >"$BATCHAI_SOURCE/written"'
    for kind in nfs4 cifs cgroup cgroup2 overlay; do [[ $output =~ [[:space:]]$kind($'\n'|$) ]]; done
    [[ $output == *"written: Read-only file system" ]]
}

@test "a guest whose time is up is killed with all of its processes" {
    run -124 guest --time 6 -- sleep 1000 # booted or not
    [ "$output" = "guest: killed after 6 seconds" ]
    eventually nothing_runs
}

@test "a guest ends with the process that started it" {
    for signal in KILL TERM; do
        coproc BATCHAI_TEST_MARK=$mark "$BATCHAI_SOURCE/tests/guest/guest" -- sh -c 'echo started; sleep 1000'
        read -r -t 60 line <&"${COPROC[0]}"
        [ "$line" = started ]
        kill "-$signal" "$COPROC_PID"
        eventually nothing_runs
    done
}

@test "a guest that dies says its kernel's last words" {
    run -69 guest -- sh -c 'echo c >/proc/sysrq-trigger; sleep 10'
    [[ $output == *"Kernel panic"*"guest: the guest died" ]]
}
