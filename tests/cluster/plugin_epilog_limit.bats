#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Slurm kills an epilog after PrologEpilogTimeout and drains the node. No user can make the end of a job take as long:
# what takes longer goes on in the background, until nothing is left.
# minislurm: -n 1 -s PrologEpilogTimeout=4
# needs: root ptrace
# plugin: policy=/run/minislurm/batchai.toml

load kills

long=150 # seconds: the background process gives a job half a minute, and tries again after a minute

setup_file() {
    make_site
    allow_squashfuse
    make_libexec
    as_alice srun -Q --batchai-mount="$data:a:ro" true # what the node's first job makes is there then
}

setup() {
    enter_work
    : >"$MINISLURM_DIR/log/slurmd-n1.log"
}

teardown() {
    touch enough
    end_strace
    ! runs '^sleep 100[1-9]' || kill_all '^sleep 100[1-9]'
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    # shellcheck disable=SC2046
    scancel $(squeue -h -o %i)
    cd /
    assert_clean
}

# start_job [SBATCH_ARGUMENT]...: a job whose temporary directory is $temp, on the node's disk.
start_job() {
    submit_alice -N 1 -o out --batchai-mount=tmpfs:t "$@" --wrap 'echo /tmp/batchai-$SLURM_JOB_ID-* >temp.${SLURM_RESTART_COUNT:-0}; exec sleep 1000'
    eventually test -s temp.0
    temp=$(cat temp.0)
}

# hold: from now on until end_strace, each process that removes files of $temp takes 100 seconds for the first.
hold() { with_fault 'batchai-helper' -DDD -f -P "$temp" -e trace=unlinkat -e inject=unlinkat:delay_enter=100000000:when=1; }

# The end of the job was over before Slurm would have killed it, and is not finished.
end_is_handed_over() {
    [ "$(wait_job "$job")" = "$1" ]
    not_drained
    log_says "batchai: job $job, user 2001: cleanup on this node is not finished"
    log_says "batchai-helper: job mini-$job: cleanup takes more than 1 s. It continues in the background"
    on_node n1 test -d "$temp"
}
not_drained() {
    [ -z "$(sinfo -h -R)" ]
    ! grep 'epilog: timeout\|epilog failed' "$MINISLURM_DIR/log/slurmd-n1.log" || false
}
log_says() { grep -qF "$1" "$MINISLURM_DIR/log/slurmd-n1.log"; }
all_is_gone() {
    deadline=$long eventually nothing_left
    on_node n1 test ! -e "$temp"
}

@test "a temporary directory that takes long to remove does not drain the node" {
    start_job
    hold
    scancel "$job"
    end_is_handed_over CANCELLED
    end_strace
    all_is_gone
}

@test "a user's other job that fills the temporary directory of an ended one does not drain the node" {
    cat >fill.py <<'PY'
import os, sys
for _ in range(2):
    os.fork()
while not os.path.exists("enough"):
    for number in range(5000):
        try:
            os.makedirs(f"{sys.argv[1]}/{os.getpid()}.{number}/below")
        except OSError:
            pass
    if not os.path.exists(sys.argv[1] + "/own"):
        break  # it is being removed: do not make it again
PY
    start_job
    on_node n1 setpriv --reuid alice --regid alice --init-groups mkdir "$temp/own"
    ended=$job
    submit_alice -N 1 -o fill.out --wrap "exec python3 fill.py $temp"
    eventually on_node n1 sh -c "[ \$(ls $temp | wc -l) -gt 15000 ]"
    scancel "$ended"
    [ "$(wait_job "$ended")" = CANCELLED ]
    not_drained
    touch enough
    [ "$(wait_job "$job")" = COMPLETED ]
    deadline=$long eventually on_node n1 sh -c '[ -z "$(ls /run/batchai/jobs)" ]'
    on_node n1 rm -rf "$temp" # the last mkdir of the other job may have made it again
}

@test "a job that is requeued while its temporary directory is being removed runs, and has another one" {
    start_job --requeue
    hold
    scontrol requeue "$job"
    sleep 2 # slurmd refuses a credential of the second in which the job was killed: "already killed"
    with_fault
    eventually runs_again temp.1
    eventually test -s temp.1
    not_drained
    [ "$(wc -w <temp.1)" = 2 ] # both are there, and the new one is not the old one
    on_node n1 test -e "/run/batchai/jobs/mini-$job/state" -a -e "/run/batchai/jobs/mini-$job.1/state"
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    not_drained
    end_strace
    all_is_gone
}

@test "a cleanup that was killed in the background is continued when the next job starts, whichever it is" {
    start_job
    hold
    scancel "$job"
    end_is_handed_over CANCELLED
    kill_all '^[^ ]*batchai-helper'
    with_fault
    on_node n1 test -d "$temp"
    srun -Q true # without --batchai-* options
    log_says "batchai-helper: cleanup is not finished for these jobs and continues in the background: mini-$job.1"
    all_is_gone
}

@test "the end of a job does not wait for a set-up that hangs" {
    start_job
    on_node n1 flock "/run/batchai/jobs/mini-$job" sleep 1001 3>&- &
    eventually runs '^sleep 1001'
    scancel "$job"
    end_is_handed_over CANCELLED
    kill_all '^sleep 1001'
    all_is_gone
}

@test "processes that multiply and leave their step end with the job, and the node stays in service" {
    cat >hop.py <<'PY'
import os, time
for _ in range(8):
    if os.fork() == 0:
        break
os.setsid()
while True:
    if os.fork():
        os._exit(0)
    time.sleep(0.001)
PY
    submit_alice -N 1 -o out --batchai-mount=tmpfs:t --wrap 'echo /tmp/batchai-$SLURM_JOB_ID-* >temp.0; python3 hop.py </dev/null >/dev/null 2>&1 & sleep 1'
    [ "$(wait_job "$job")" = COMPLETED ]
    temp=$(cat temp.0)
    not_drained
    all_is_gone
}

@test "a user who stops the program of a FUSE mount does not drain the node" {
    { : <>/dev/fuse && command -v squashfuse mksquashfs; } >/dev/null 2>&1 || skip "needs /dev/fuse, squashfuse and squashfs-tools"
    as_alice mksquashfs "$share/code" "$open/data.sqsh" -quiet -no-progress >/dev/null
    start_job --batchai-mount="squashfuse=$open/data.sqsh:f"
    as_alice kill -STOP "$(on_node_named '^/usr/bin/squashfuse')"
    scancel "$job"
    end_is_handed_over CANCELLED
    all_is_gone
}

@test "a dead file system below the temporary directory does not drain the node" {
    start_job
    on_node n1 setpriv --reuid alice --regid alice --init-groups mkdir -p "$temp/dead" "$temp/own/deep"
    on_node n1 /usr/bin/python3 "$BATCHAI_SOURCE/tests/cluster/dead_server.py" "$temp/dead" "$PWD/server.dead" || skip "needs FUSE"
    touch server.dead
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    eventually on_node n1 test ! -e "$temp/own"
    not_drained
    on_node n1 umount -l "$temp/dead"
    rm -f server.dead*
    all_is_gone
}
