#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How a job under batchai-launch is ended from outside, and how it goes on after a failure.
# minislurm: -n 3 -s PreemptType=preempt/partition_prio -s PreemptMode=REQUEUE -s "PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=20" -s "PartitionName=high Nodes=ALL PriorityTier=2"
#
# shellcheck disable=SC2154 # status, output and lines are set by run, job by submit

bats_require_minimum_version 1.5.0
load lib

setup() {
    cd "$BATS_TEST_TMPDIR"
    # A rank: writes "up", and after a signal, a moment later, its checkpoint.
    cat >rank <<'END'
#!/bin/bash
trap 'sleep 0.4; echo "rank $RANK saved its work"; exit 0' TERM
trap 'sleep 0.4; echo "rank $RANK saved its work on SIGUSR1"; exit 0' USR1
touch "up.$RANK"
while :; do sleep 0.1; done
END
    chmod +x rank
}

# here COMMAND...: on this machine in the background, its output in the file out.
here() { timeout 60 batchai-launch --local 2 "$@" >out 2>&1 & }

# are_up COUNT: as many ranks have begun.
are_up() { [ "$(find . -name 'up.*' | wc -l)" = "$1" ]; }

# ends_with CODE: the background process does.
ends_with() {
    local code=0
    wait "$!" || code=$?
    [ "$code" = "$1" ] || {
        echo "ended with $code: $(cat out)" >&2
        return 1
    }
}

root() { pgrep -P "$!" -x batchai-launch; }

# said LINE: in the file out, once.
said() { [ "$(grep -cF -- "$1" out)" = 1 ]; }

@test "a job that is asked to end has time to write its checkpoint, and no rank is blamed" {
    here -n 2 ./rank
    eventually are_up 2
    kill -TERM "$(root)"
    ends_with 143
    said "batchai-launch: SIGTERM: the ranks have 10 s to end"
    said "rank 0 saved its work"
    said "rank 1 saved its work"
    [ "$(tail -n 1 out)" = "batchai-launch: asked to end by SIGTERM" ]
}

@test "a program that a shell has started has time to write its checkpoint, too" {
    here -n 2 sh -c './rank; true'
    eventually are_up 2
    kill -TERM "$(root)"
    ends_with 143
    said "rank 0 saved its work"
    said "rank 1 saved its work"
}

@test "ranks that take too long to end are killed, and counted" {
    here --grace 0.1 -n 2 ./rank
    eventually are_up 2
    kill -TERM "$(root)"
    ends_with 143
    [ "$(tail -n 2 out)" = "batchai-launch: asked to end by SIGTERM
  2 of 2 ranks did not end in time and were killed" ]
}

@test "who asks twice does not wait for checkpoints" {
    here --grace 1000 -n 2 sh -c 'trap "" TERM; touch up.$RANK; while :; do sleep 1; done'
    eventually are_up 2
    kill -TERM "$(root)"
    eventually said "SIGTERM: the ranks have 1000 s to end"
    kill -TERM "$(root)"
    ends_with 143
}

@test "a job under nohup outlives its terminal" {
    timeout 60 sh -c 'trap "" HUP; exec batchai-launch --local 1 -n 1 sh -c "touch up.0; until [ -e go ]; do sleep 0.1; done; echo well"' >out 2>&1 &
    eventually are_up 1
    kill -HUP "$(root)"
    touch go
    ends_with 0
    said well
}

@test "signals that somebody sends through Slurm reach each rank" {
    submit -N2 --output=out --wrap "batchai-launch -n 2 bash -c 'trap \"echo caught; exit 0\" USR2; touch up.\$RANK; while :; do sleep 0.1; done'"
    eventually are_up 2
    scancel --signal=USR2 "$job"
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(grep -cx caught out)" = 2 ]
}

@test "the signal that Slurm was told to send before the time limit ends the job" {
    submit -N2 --output=out --wrap "batchai-launch --end-on USR1 -n 2 ./rank; echo \"code \$?\""
    eventually are_up 2
    scancel --signal=USR1 "$job"
    [ "$(wait_job "$job")" = COMPLETED ]
    said "rank 0 saved its work on SIGUSR1"
    said "rank 1 saved its work on SIGUSR1"
    said "batchai-launch: asked to end by SIGUSR1"
    said "code 138"
}

@test "a job that has to make room writes its checkpoint, and says why it ended" {
    submit -N2 -p low --output=out --wrap 'batchai-launch -n 2 ./rank; echo "code $?"'
    eventually are_up 2
    low=$job
    submit -N3 -p high --exclusive --output=/dev/null --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    wait_job "$low"
    said "rank 0 saved its work"
    said "rank 1 saved its work"
    said "batchai-launch: asked to end by SIGTERM: Slurm has pre-empted the job"
    said "code 143"
}

@test "a job at its time limit writes its checkpoint, and says why it ended" {
    [ "${BATCHAI_SOAK-0}" != 0 ] || skip "Slurm looks at time limits every half a minute: BATCHAI_SOAK=1"
    submit -N2 --time=1 --output=out --wrap 'batchai-launch -n 2 ./rank'
    eventually are_up 2
    scontrol update JobId="$job" EndTime="$(date -d 'now + 2 seconds' +%FT%T)"
    deadline=100 eventually job_is_over "$job"
    [ "$(job_state "$job")" = TIMEOUT ]
    said "rank 0 saved its work"
    said "rank 1 saved its work"
    said "batchai-launch: asked to end by SIGTERM: the job has reached its time limit"
}
