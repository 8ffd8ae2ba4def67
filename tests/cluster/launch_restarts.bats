#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ends of a job under batchai-launch from outside, and restarts after a failure.
# minislurm: -n 3 -s PreemptType=preempt/partition_prio -s PreemptMode=REQUEUE -s "PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=20" -s "PartitionName=high Nodes=ALL PriorityTier=2"
#
# shellcheck disable=SC2154 # status, output and lines are set by run, job by submit

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return
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

@test "a second signal ends the job without waiting for checkpoints" {
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

@test "signals that a user sends through Slurm reach each rank" {
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

@test "a preempted job writes its checkpoint, and says why it ended" {
    submit -N2 -p low --output=out --wrap 'batchai-launch -n 2 ./rank; echo "code $?"'
    eventually are_up 2
    low=$job
    submit -N3 -p high --exclusive --output=/dev/null --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually said "code 143"
    said "rank 0 saved its work"
    said "rank 1 saved its work"
    said "batchai-launch: asked to end by SIGTERM: Slurm has preempted the job"
    scancel "$low" # newer Slurm puts it into the queue again
}

@test "a job at its time limit writes its checkpoint, says why it ended, and is requeued" {
    only_in_soak "Slurm looks at time limits every half a minute"
    submit -N2 --time=1 --output=out --wrap 'batchai-launch --requeue-on signal -n 2 ./rank'
    eventually are_up 2
    scontrol update JobId="$job" EndTime="$(date -d 'now + 2 seconds' +%FT%T)"
    deadline=100 eventually said "batchai-launch: requeueing job $job, 1 of 3 times"
    scancel "$job"
    wait_job "$job"
    [ "$(job_field "$job" Restarts)" = 1 ]
    said "rank 0 saved its work"
    said "rank 1 saved its work"
    said "batchai-launch: asked to end by SIGTERM: the job has reached its time limit"
}

# ---- requeue ------------------------------------------------------------------------------------

# starts_again COUNT: Slurm has put the job back into its queue that often. The node where it ran would
# not take it again before two minutes have passed.
starts_again() {
    [ "$(job_field "$job" Restarts)" = "$1" ] && [ "$(job_state "$job")" = PENDING ] &&
        scontrol update JobId="$job" StartTime=now ReqNodeList=n3
}

@test "a job that fails is requeued up to its limit, and not more often" {
    # exec: proctrack/linuxproc may miss a child that is made while it kills.
    submit -N1 -w n1 --open-mode=append --output=out \
        --wrap 'batchai-launch --requeue-on failure --max-requeues 1 -n 1 sh -c "echo begins; exit 3"; echo "code $?"; exec sleep 20'
    eventually starts_again 1
    eventually said "not requeued: Slurm has requeued the job 1 times already (--max-requeues)"
    said "batchai-launch: requeueing job $job, 1 of 1 times"
    [ "$(grep -cx begins out)" = 2 ]
    eventually grep -qx 'code 3' out
    scancel "$job"
    wait_job "$job"
}

@test "a job that its user cancels is not requeued" {
    submit -N1 --output=out --wrap 'exec batchai-launch --requeue-on signal,failure,node-fail -n 1 ./rank'
    eventually are_up 1
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    [ "$(job_field "$job" Restarts)" = 0 ]
}

@test "a job that is requeued from outside is not called cancelled, and is not over" {
    # shellcheck disable=SC2016 # expanded by the job
    submit -N1 -w n1 --open-mode=append --output=out --wrap '
        [ -z "$SLURM_RESTART_COUNT" ] || exec true
        exec batchai-launch --requeue-on signal -n 1 ./rank'
    eventually are_up 1
    scontrol requeue "$job"
    eventually starts_again 1
    [ "$(wait_job "$job")" = COMPLETED ]
    said "rank 0 saved its work"
    said "batchai-launch: asked to end by SIGTERM: the job was requeued"
    ! grep -e cancelled -e 'not requeued' -e requeueing out
}

@test "a script that would empty its output when it runs again gets a warning" {
    submit -N1 --output=out --wrap 'batchai-launch --requeue-on signal -n 1 true >emptied 2>&1; batchai-launch --requeue-on signal -n 1 true >>appended 2>&1'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat emptied)" = "batchai-launch: $PWD/emptied is not open for appending: its contents are lost when Slurm runs the job again. Write \">>\" in the job's script." ]
    [ ! -s appended ]
}

@test "a requeued job keeps its ranks' earlier output, also in files of their own" {
    # shellcheck disable=SC2016 # expanded by the rank
    submit -N1 -w n1 --open-mode=append --output=out --wrap '
        exec batchai-launch --requeue-on failure --output-dir ranks -n 1 sh -c "
            printf \"run \${SLURM_RESTART_COUNT:-0}\"; [ -n \"\$SLURM_RESTART_COUNT\" ]"'
    eventually starts_again 1
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat ranks/rank.0/stdout)" = "run 0
batchai-launch: job $job runs again (requeue 1): its output goes on here
run 1" ]
    [ ! -s ranks/rank.0/stderr ]
    grep -q 'run 0' out
    grep -q 'run 1' out
}

# ---- time-outs ----------------------------------------------------------------------------------

@test "time in which the job is suspended does not count for --timeout" {
    need_root # to suspend a job
    submit -N1 --output=out --wrap 'batchai-launch --timeout 4 -n 1 sh -c "touch up.0; until [ -e go ]; do sleep 0.1; done; echo well"; echo "code $?"'
    eventually are_up 1
    scontrol suspend "$job"
    sleep 5
    scontrol resume "$job"
    touch go
    [ "$(wait_job "$job")" = COMPLETED ]
    said well
    said "code 0"
}

@test "a launcher that was stopped counts the time before and after for --timeout" {
    here --timeout 3 -n 1 sh -c 'touch up.0; exec sleep 60'
    eventually are_up 1
    kill -STOP "$(root)"
    sleep 1
    kill -CONT "$(root)"
    ends_with 124
    said "time-out: the job was ended after 3 s"
}

@test "a timeout after a restart does not report less time than the user gave" {
    # shellcheck disable=SC2016 # expanded by the rank
    run -124 timeout 60 batchai-launch --local 1 -n 1 --restarts 1 --timeout 3 \
        sh -c '[ $TORCHELASTIC_RESTART_COUNT = 1 ] || { sleep 1; exit 1; }; exec sleep 60'
    [[ $output == *"restart 1 of 1"*"time-out: the job was ended after 3 s"* ]]
}

# ---- what is not requeued ---------------------------------------------------------------------------

@test "a dry run that is asked to end does not requeue the job" {
    # The launcher waits for srun, which does not go on.
    # shellcheck disable=SC2016 # expanded by the job
    submit -N1 --output=out --wrap '
        batchai-launch --dry-run --requeue-on signal -n 1 true & launcher=$!
        until srun=$(pgrep -P $launcher -x srun); do kill -0 $launcher || exit; done
        kill -STOP $srun
        kill -TERM $launcher
        wait $launcher
        echo "code $?"'
    [ "$(wait_job "$job")" = COMPLETED ]
    said "code 143"
    [ "$(job_field "$job" Restarts)" = 0 ]
    [ "$(grep -c requeue out)" = 0 ]
}

@test "a job does not take the requeues of the job that submitted it for its own" {
    SLURM_RESTART_COUNT=3 submit -N1 -w n1 --open-mode=append --output=out \
        --wrap 'batchai-launch --requeue-on failure --max-requeues 1 --output-dir ranks -n 1 sh -c "echo begins; exit 3"; exec sleep 20'
    eventually said "batchai-launch: requeueing job $job, 1 of 1 times"
    [ "$(cat ranks/rank.0/stdout)" = begins ]
    scancel "$job"
    wait_job "$job"
}

@test "--requeue-on is refused at once if the job cannot be requeued" {
    run -125 salloc --quiet -N1 batchai-launch --requeue-on signal -n 1 echo began
    [ "$output" = "batchai-launch: --requeue-on: this is not a batch job: submit it with sbatch" ]
    run -125 timeout 20 batchai-launch --local 1 --requeue-on signal -n 1 echo began
    [ "$output" = "batchai-launch: --requeue-on: --local has no queue" ]
}

# ---- each launch has its own state -----------------------------------------------------------------

# A rank that prints what it finds in its restart directory, and leaves a mark there. It fails until its attempt is the
# last one, or until the file "go" exists.
write_keeper() {
    cat >keeper <<'END'
#!/bin/sh
mkdir -p "$BATCHAI_RESTART_DIRECTORY"
state=$BATCHAI_RESTART_DIRECTORY/state
echo "$MARK.$TORCHELASTIC_RESTART_COUNT finds $(cat "$state" 2>/dev/null)"
echo "$MARK" >"$state"
[ "$TORCHELASTIC_RESTART_COUNT" = "${LAST-$TORCHELASTIC_MAX_RESTARTS}" ]
END
    chmod +x keeper
}

@test "launches of one job, at the same time or in turn, never find each other's state" {
    write_keeper
    cat >script <<'END'
#!/bin/sh
for mark in a b; do MARK=$mark batchai-launch --restarts 1 -n 1 ./keeper & done
wait
MARK=c LAST=never batchai-launch --restarts 1 -n 1 ./keeper
MARK=d batchai-launch --restarts 1 -n 1 ./keeper
MARK=e batchai-launch --restarts 1 -n 1 ./keeper with another argument
MARK=f BATCHAI_RESTART_DIRECTORY=$PWD/own batchai-launch --restarts 1 -n 1 ./keeper
END
    submit -N1 --overcommit --output=out script
    [ "$(wait_job "$job")" = COMPLETED ]
    for mark in a b c d e f; do
        said "$mark.0 finds"
        grep -qx "$mark.0 finds " out
        grep -qx "$mark.1 finds $mark" out
    done
    [ "$(cat own/state)" = f ]
}

@test "tasks of a job array never find each other's state" {
    write_keeper
    # shellcheck disable=SC2016 # expanded by the job
    submit -N1 --array=1-2 --output=out.%a --wrap 'MARK=$SLURM_ARRAY_TASK_ID exec batchai-launch --restarts 1 -n 1 ./keeper'
    for task in 1 2; do
        [ "$(wait_job "${job}_$task")" = COMPLETED ]
        grep -qx "$task.0 finds " "out.$task"
        grep -qx "$task.1 finds $task" "out.$task"
    done
}

task_state() { scontrol show job -o "$1" 2>/dev/null | grep -o "JobState=[A-Z]*" | cut -d= -f2; }
is_task_in_state() { [ "$(task_state "$1")" = "$2" ]; }

@test "a task of a job array that requeues itself requeues no other task" {
    cat >script <<'END'
#!/bin/bash
exec batchai-launch --requeue-on failure --max-requeues 1 -n 1 bash -c '
    echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID runs as $SLURM_JOB_ID"
    [ "$SLURM_ARRAY_TASK_ID" != 0 ] || exit 0
    [ "$SLURM_ARRAY_TASK_ID" = 2 ] || while :; do sleep 0.2; done
    until [ -e go ]; do sleep 0.1; done
    exit 9'
END
    submit -N1 --array=0-2 --requeue --open-mode=append --output=out.%a script
    eventually is_task_in_state "${job}_0" COMPLETED
    eventually is_task_in_state "${job}_1" RUNNING
    # Slurm gives the last task the array's own number.
    eventually grep -qx "task 2 of $job runs as $job" out.2
    touch go
    eventually is_task_in_state "${job}_2" PENDING
    grep -qx "batchai-launch: requeueing job ${job}_2, 1 of 1 times" out.2
    [ "$(task_state "${job}_0") $(task_state "${job}_1")" = "COMPLETED RUNNING" ]
    scancel "$job"
}

@test "a job that was submitted inside a task of a job array requeues itself, not that task" {
    # shellcheck disable=SC2016 # expanded by the job
    submit -N1 --array=7 --requeue --output=outer --wrap 'while :; do sleep 0.2; done'
    outer=$job
    eventually is_task_in_state "${outer}_7" RUNNING
    export SLURM_ARRAY_JOB_ID=$outer SLURM_ARRAY_TASK_ID=7
    submit -N1 --requeue --open-mode=append --output=inner --wrap 'exec batchai-launch --requeue-on failure -n 1 false'
    unset SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID
    eventually is_task_in_state "$job" PENDING
    eventually grep -qx "batchai-launch: requeueing job $job, 1 of 3 times" inner
    [ "$(task_state "${outer}_7")" = RUNNING ]
    scancel "$outer" "$job"
}

@test "a launch inside a rank never finds the state of the launch around it" {
    write_keeper
    # shellcheck disable=SC2016 # expanded by the rank
    run -0 timeout 30 batchai-launch --local 1 -n 1 --restarts 1 sh -c '
        MARK=outer LAST=$TORCHELASTIC_RESTART_COUNT ./keeper
        echo "inner: ${BATCHAI_RESTART_DIRECTORY#"$PWD"}"
        MARK=inner LAST=0 batchai-launch --local 1 -n 1 --restarts 1 ./keeper
        batchai-launch --local 1 -n 1 sh -c "echo without: \$BATCHAI_RESTART_DIRECTORY"'
    [[ $output == *"outer.0 finds"*"inner.0 finds "* ]]
    [[ $output != *"finds outer"* ]]
    grep -qx 'without:' <<<"$output"
}

@test "a launch that cannot write its note runs with a state of its own, and says so" {
    write_keeper
    # shellcheck disable=SC2016 # expanded by the job
    submit -N1 --output=out --wrap 'export XDG_DATA_HOME=/proc/none; for mark in a b; do MARK=$mark batchai-launch --restarts 1 -n 1 ./keeper; done'
    [ "$(wait_job "$job")" = COMPLETED ]
    for mark in a b; do
        grep -qx "$mark.0 finds " out
        grep -qx "$mark.1 finds $mark" out
    done
    [ "$(grep -c '^batchai-launch: if Slurm runs this job again, its ranks will not find their state: .*/proc/none' out)" = 2 ]
}

@test "each launch of a requeued job finds its own state, and none finds another's" {
    write_keeper
    cat >script <<'END'
#!/bin/sh
MARK=first LAST=0 batchai-launch --restarts 1 -n 1 ./keeper
for mark in a b; do MARK=$mark LAST=0 batchai-launch --restarts 1 -n 1 ./keeper & done
wait
rm -r batchai-restart.*-1 # what has ended well leaves nothing
MARK=last LAST=${SLURM_RESTART_COUNT:+0} exec batchai-launch --requeue-on failure -n 1 ./keeper
END
    submit -N1 -w n1 --overcommit --open-mode=append --output=out script
    eventually starts_again 1
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(grep -cx 'first.0 finds ' out)" = 2 ]
    for mark in a b last; do
        grep -qx "$mark.0 finds " out
        grep -qx "$mark.0 finds $mark" out
    done
    [ "$(grep -c "^batchai-launch: job $job runs again: its ranks find the state of an earlier run in " out)" = 3 ]
}

@test "a requeued job whose notes are on another node does not start without its state in silence" {
    # shellcheck disable=SC2016 # expanded by the job
    submit -N1 -w n1 --open-mode=append --output=out --wrap '
        export XDG_DATA_HOME=$PWD/data.${SLURM_RESTART_COUNT:-0}
        exec batchai-launch --requeue-on failure -n 1 sh -c "[ -n \"\$SLURM_RESTART_COUNT\" ]"'
    eventually starts_again 1
    [ "$(wait_job "$job")" = COMPLETED ]
    said "batchai-launch: job $job runs again, and no launch of an earlier run is noted in $PWD/data.1/batchai/launches on this node. If there was one, its ranks start without their state: set XDG_DATA_HOME"
}

@test "the notes of a job are not kept for ever, and not removed while Slurm has the job" {
    export XDG_DATA_HOME=$PWD/data
    notes=$PWD/data/batchai/launches
    cluster=$(scontrol show config | sed -n 's/^ClusterName *= //p')
    mkdir -p "$notes"
    touch -d '2 days ago' "$notes/$cluster-999999" "$notes/$cluster-no" "$notes/other-999999"
    touch "$notes/$cluster-999998"
    submit -N1 --output=out --wrap 'batchai-launch --restarts 1 -n 1 true'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cd "$notes" && echo *)" = "$(printf '%s\n' "$cluster-"{999998,no,"$job"} lock other-999999 | sort | xargs)" ]
    first=$job
    touch -d '2 days ago' "$notes/$cluster-$first"
    submit -N1 --output=out --wrap 'batchai-launch --restarts 1 -n 1 true'
    [ "$(wait_job "$job")" = COMPLETED ]
    [ -e "$notes/$cluster-$first" ]
}

# ---- restarts -----------------------------------------------------------------------------------

# A rank that lives until there is a file end.N for its attempt N.
write_worker() {
    cat >worker <<'END'
#!/bin/sh
echo "attempt $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS: rank $RANK of $WORLD_SIZE, $PMIX_RANK, $HOROVOD_SIZE"
echo $$ >"pid.$RANK"
touch "up.$TORCHELASTIC_RESTART_COUNT.$RANK"
until [ -e "end.$TORCHELASTIC_RESTART_COUNT" ]; do sleep 0.05; done
END
    chmod +x worker
}

# attempt_is_up N COUNT
attempt_is_up() { [ "$(find . -name "up.$1.*" | wc -l)" = "$2" ]; }

@test "ranks that are killed are started again, all of them, and their output goes on" {
    local times attempt
    write_worker
    times=$(often 50 2)
    here --restarts "$times" --output-dir logs -n 4 ./worker
    for ((attempt = 0; attempt < times; attempt++)); do
        eventually attempt_is_up "$attempt" 4
        kill -KILL "$(cat "pid.$((attempt % 4))")"
    done
    eventually attempt_is_up "$times" 4
    touch "end.$times"
    ends_with 0
    [ "$(grep -c 'was killed by signal 9' out)" = "$times" ]
    [ "$(grep -c '^attempt .*: rank . of 4, ., 4$' out)" = "$((4 * (times + 1)))" ]
    [ "$(wc -l <logs/rank.3/stdout)" = "$((times + 1))" ]
}

@test "a training does not end at its restart because the directory of its ranks' output is gone" {
    # shellcheck disable=SC2016 # expanded by the rank
    run -123 timeout 30 batchai-launch --local 1 -n 1 --restarts 1 --output-dir logs sh -c '
        echo "attempt $TORCHELASTIC_RESTART_COUNT"
        [ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0
        mv logs gone && touch logs
        exit 1'
    kept=$(grep -o '/var/tmp/batchai-[^ ]*' <<<"$output" | sort -u)
    # shellcheck disable=SC2086 # one argument per file
    text=$(cat $kept) && rm $kept
    [ "$text" = "attempt 1" ]
    [ "$(cat gone/rank.0/stdout)" = "attempt 0" ]
    [[ $output == *"batchai-launch: $PWD/logs/rank.0/stdout: $PWD/logs/rank.0: Not a directory; the ranks' output goes on in $(hostname -s)-0:/var/tmp/batchai-"* ]]
    [[ $output == *"batchai-launch: the ranks ended well, but some of their output is not in its file: "* ]]
}

@test "after the last restart the job fails as its last attempt" {
    run -4 timeout 30 batchai-launch --local 2 --restarts 1 -n 2 sh -c '[ $RANK = 0 ] || exit $((3 + TORCHELASTIC_RESTART_COUNT)); sleep 60'
    [[ $output == *"rank 1 on "*" exited with code 3"*"restart 1 of 1, on 2 nodes: "*"rank 1 on "*" exited with code 4"* ]]
}

@test "a failure that a new attempt would not cure does not restart the ranks" {
    run -127 timeout 30 batchai-launch --local 2 --restarts 5 -n 2 no-such-command
    [[ $output != *"restart 1"* ]]
    run -124 timeout 30 batchai-launch --local 2 --restarts 5 --timeout 0.5 -n 2 sleep 60
    [[ $output != *"restart 1"* ]]
}

@test "nodes whose agents are lost are left out, as long as enough remain" {
    local times attempt
    write_worker
    times=$(often 50 2)
    timeout 200 batchai-launch --local $((times + 1)) --restarts "$times" --min-nodes 1 --ranks-per-node 1 ./worker >out 2>&1 &
    for ((attempt = 0; attempt < times; attempt++)); do
        eventually attempt_is_up "$attempt" $((times + 1 - attempt))
        # The agent of rank 0 is its parent.
        kill -KILL "$(ps -o ppid= "$(cat pid.0)")"
    done
    eventually attempt_is_up "$times" 1
    touch "end.$times"
    ends_with 0
    said "attempt $times of $times: rank 0 of 1, 0, 1"
    said "restart $times of $times, on 1 node: "
}

@test "nothing is left when the launcher is killed after a restart" {
    write_worker
    here --restarts 1 -n 2 ./worker
    eventually attempt_is_up 0 2
    kill -KILL "$(cat pid.1)"
    eventually attempt_is_up 1 2
    kill -KILL "$(root)"
    ends_with 137
    eventually no_worker
}
no_worker() { ! pgrep -fx '/bin/sh ./worker' >/dev/null; }

@test "a node that loses power is left out, and Slurm's variables say so" {
    only_in_soak "takes 20 s"
    submit -N3 --no-kill --output=out --wrap 'batchai-launch --restarts 1 --min-nodes 2 --ranks-per-node 2 sh -c "
        touch up.\$TORCHELASTIC_RESTART_COUNT.\$RANK
        echo \$RANK/\$WORLD_SIZE, \$SLURM_NTASKS on \$SLURM_JOB_NUM_NODES: \$SLURM_JOB_NODELIST
        [ \$TORCHELASTIC_RESTART_COUNT != 0 ] || sleep 60"; echo "code $?"'
    eventually attempt_is_up 0 6
    minislurm kill n2
    eventually said "code 0"
    said "batchai-launch: lost the agent on n2: the node is down, or the agent was killed"
    said "batchai-launch: restart 1 of 1, on 2 nodes: n1 n3"
    for rank in 0 1 2 3; do said "$rank/4, 4 on 2: n[1,3]"; done
    scontrol update NodeName=n2 State=DOWN Reason=killed
    wait_job "$job"
    scontrol update NodeName=n2 State=RESUME
}

@test "an earlier attempt's kept output is not forgotten if the next attempt's file has room again" {
    export token=$BATS_TEST_TMPDIR
    mkdir logs
    cat >worker <<'END'
#!/bin/sh
echo "$token attempt $TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 1
until grep -qF --include='batchai-*' -r "$token attempt 1" /var/tmp; do sleep 0.05; done
rm logs/ballast
END
    chmod +x worker
    # shellcheck disable=SC2016 # expanded by that shell
    run -123 timeout 30 unshare --mount sh -c '
        mount -t tmpfs -o size=256k own logs
        head -c 1M /dev/zero >logs/ballast 2>/dev/null
        batchai-launch --local 1 -n 1 --restarts 1 --output-dir logs ./worker
        code=$?
        sed "s/^/file: /" logs/rank.0/stdout
        exit $code'
    kept=$(grep -rlF --include='batchai-*' "$token attempt 0" /var/tmp)
    [ "$(cat "$kept")" = "$token attempt 0" ]
    rm "$kept"
    [ "$(grep -c "^file: $token attempt 1$" <<<"$output")" = 1 ]
    [[ $output == *"can be written again: what was in "*"the ranks ended well, but some of their output is not in its file: "*":$kept"* ]]
}
