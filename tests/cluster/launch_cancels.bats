#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A launch that Slurm ends blames no rank and no node, and does not begin again, also where Slurm signals the ranks
# before the agents and the launcher.
# minislurm: -n 2 -s ProctrackType=proctrack/linuxproc
#
# shellcheck disable=SC2154 # job is set by submit

load lib

rounds=$(often 25)
# Ranks that die of the signal, and ranks that answer with a code of their own.
deaf='exec sleep 60'
answers='trap "exit 3" TERM; sleep 60 & wait'

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || { cat "$BATS_TEST_TMPDIR"/out && show_logs; }
    assert_clean
}

# ended_by COMMAND...: the report of a launch of four ranks that is ended by COMMAND with the job's number.
ended_by() {
    local rank round
    for ((round = 0; round < rounds; round++)); do
        for rank in "$deaf" "$answers"; do
            : >"$BATS_TEST_TMPDIR/out"
            submit --requeue -N2 -n4 -o "$BATS_TEST_TMPDIR/out" --open-mode=append --wrap "
                batchai-launch --restarts 2 -n 4 sh -c 'echo up; $rank'"
            eventually is_up
            "$@"
            eventually grep -q '^batchai-launch: asked to end by ' "$BATS_TEST_TMPDIR/out"
            run -1 grep -E '^batchai-launch: (rank|lost|restart)' "$BATS_TEST_TMPDIR/out"
            scancel "$job"
            eventually has_ended
        done
    done
}
is_up() { [ "$(grep -c '^up$' "$BATS_TEST_TMPDIR/out")" -eq 4 ]; }
has_ended() { [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; }

@test "a job that is cancelled" {
    cancel() { scancel "$job"; }
    ended_by cancel
    grep -q ' by S[A-Za-z]*: the job was cancelled$' "$BATS_TEST_TMPDIR/out"
}

@test "a job whose steps get SIGTERM" {
    terminate() { scancel --signal=TERM "$job"; }
    ended_by terminate
    grep -q ' by SIGTERM$' "$BATS_TEST_TMPDIR/out"
}

@test "a job that is requeued" {
    requeue() { scontrol requeue "$job"; }
    ended_by requeue
    grep -q ' by S[A-Za-z]*: the job was requeued$' "$BATS_TEST_TMPDIR/out"
}
