#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A launch that Slurm or its script ends blames no rank and no node, and does not begin again. A signal reaches each rank
# once. Both with all that Slurm tracks processes by: with proctrack/linuxproc it signals each process of a step, with
# proctrack/pgid the guards' process groups, with proctrack/cgroup the guards alone.
# minislurm: -n 2 -s ProctrackType=proctrack/linuxproc
#
# shellcheck disable=SC2154 # job is set by submit

load lib

rounds=$(often 25)
# Ranks that die of the signal, and ranks that answer with a code of their own.
deaf='exec sleep 60'
answers='trap "exit 3" TERM; sleep 60 & wait'
freezer=/sys/fs/cgroup/freezer
out=$BATS_TEST_TMPDIR/out

setup_file() {
    export tracks='linuxproc pgid'
    [ "$(id -u)" != 0 ] || [ ! -w "$freezer/tasks" ] || tracks+=' cgroup'
    printf 'CgroupPlugin=cgroup/v1\n' >"$MINISLURM_DIR/etc/cgroup.conf"
    remember_nodes
}

# What Slurm leaves.
teardown_file() { find "$freezer"/slurm_n[12] -depth -type d -exec rmdir {} + 2>/dev/null || true; }

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || { cat "$out" && show_logs; }
    assert_clean
}

# with_each COMMAND...: with each kind of tracking. The steps of a slurmd are tracked as its slurm.conf says.
with_each() {
    local track node old
    for track in $tracks; do
        sed -i "s,^ProctrackType=.*,ProctrackType=proctrack/$track," "$MINISLURM_DIR/etc/slurm.conf"
        for node in n1 n2; do
            old=$(pgrep -f "^slurmd -N $node")
            # shellcheck disable=SC2086 # words
            kill $old
            eventually has_no_slurmd "$node"
            on_node "$node" slurmd -N "$node"
        done
        eventually srun -Q -N2 true
        "$@"
    done
}
has_no_slurmd() { run -1 pgrep -f "^slurmd -N $1"; }

# start COMMANDS [SBATCH_ARGUMENT]...: a job with these commands, until its four ranks say "up".
start() {
    : >"$out"
    submit -N2 -n4 -o "$out" --open-mode=append "${@:2}" --wrap "$1"
    eventually is_up
}
is_up() { [ "$(grep -c '^up$' "$out")" -eq 4 ]; }
has_ended() { [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; }
has_no_ranks() { run -1 pgrep -f '[b]atchai-launch --(agent|restarts)'; }
blames_nothing() { run -1 grep -E '^batchai-launch: (rank|lost|restart|srun)' "$out"; }

# ended_by COMMAND REASON: how a launch of four ranks is ended by COMMAND. Where Slurm kills the launcher after its script,
# the launcher has no time for its report, or for a word.
ended_by() {
    local rank round
    for ((round = 0; round < rounds; round++)); do
        for rank in "$deaf" "$answers"; do
            start "batchai-launch --restarts 2 -n 4 sh -c 'echo up; $rank'" --requeue
            "$1"
            if [ "$track" = linuxproc ]; then eventually grep -q "^batchai-launch: asked to end by $2\$" "$out"; fi
            eventually has_no_ranks
            blames_nothing
            scancel "$job"
            eventually has_ended
        done
    done
}

@test "a job that is cancelled" {
    cancel() { scancel "$job"; }
    with_each ended_by cancel 'S[A-Za-z]*: the job was cancelled'
}

@test "a job whose steps get SIGTERM" {
    terminate() { scancel --signal=TERM "$job"; }
    with_each ended_by terminate SIGTERM
}

@test "a job that is requeued" {
    requeue() { scontrol requeue "$job"; }
    with_each ended_by requeue 'S[A-Za-z]*: the job was requeued'
}

# shellcheck disable=SC2329 # called by with_each
cancelled_step() {
    local rank node
    for rank in "$deaf" "$answers"; do
        start "batchai-launch --restarts 2 -n 4 sh -c 'echo up; $rank'; echo code \$?; sleep 60"
        scancel "$job.0"
        eventually grep -qx 'code 137' "$out"
        grep -qx "batchai-launch: step $job.0, which runs the ranks, was cancelled" "$out"
        blames_nothing
        for node in n1 n2; do
            [ -z "$(on_node "$node" find /tmp /dev/shm -maxdepth 1 -name 'batchai.run.*')" ]
        done
        scancel "$job"
        eventually has_ended
    done
}

# Slurm does not always say that the step was cancelled before it has killed all agents: the launcher names one then.
@test "a step that is cancelled is named, and leaves nothing" {
    [ "${BATCHAI_SOAK-0}" != 0 ] || skip "in the long run only (--soak)"
    with_each cancelled_step
}

# shellcheck disable=SC2329 # called by with_each
left_alone() {
    local rank go=$BATS_TEST_TMPDIR/go
    for rank in "$deaf" "$answers"; do
        start "batchai-launch --restarts 2 -n 4 sh -c 'echo up; $rank' & until [ -e $go ]; do sleep 0.1; done"
        touch "$go"
        [ "$track" != linuxproc ] || eventually grep -qx 'batchai-launch: the script ended while its launch ran' "$out"
        eventually has_ended
        eventually has_no_ranks
        blames_nothing
        rm "$go"
    done
}

@test "a script that ends while its launch runs is named" { with_each left_alone; }

@test "a command that ends while the launch that it has started runs has failed" {
    run -125 timeout -k 2 30 batchai-launch --local 1 -n 1 sh -c \
        'batchai-launch --local 1 -n 2 sleep 300 & until pgrep -fx "sleep 300"; do sleep 0.1; done'
    [[ $output = *"batchai-launch: the script ended while its launch ran"* ]]
}

# Each rank counts what it gets, and prints it at the end.
counter='import signal, sys, time
got = 0
def count(*_):
    global got
    got += 1
signal.signal(signal.SIGUSR1, count)
print("up", flush=True)
end = time.monotonic() + 3
while time.monotonic() < end: time.sleep(0.05)
print("got", got, flush=True)'

# A shell waits for its command before it handles a signal: exec, or a trap and "wait".
# shellcheck disable=SC2329 # called by with_each
signalled_once() {
    local way launch="batchai-launch -n 4 python3 -c '$counter'"
    for way in of_job of_all of_step of_script of_launcher; do
        if [ $way = of_script ]; then start "exec $launch"; else start "trap : USR1; $launch & wait; wait"; fi
        $way
        eventually has_ended
        [ "$(grep -cx 'got 1' "$out")" -eq 4 ] || { echo "$way:" && return 1; }
    done
}
of_job() { scancel --signal=USR1 "$job"; } # sbatch --signal=USR1 does the same
of_all() { scancel --full --signal=USR1 "$job"; }
of_step() { scancel --signal=USR1 "$job.0"; }
of_script() { scancel --batch --signal=USR1 "$job"; } # sbatch --signal=B:USR1 does the same
of_launcher() { on_node n1 pkill -USR1 -of '^batchai-launch -n [4]'; }

@test "a signal arrives once at each rank" { with_each signalled_once; }
