#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# However a job ends, it leaves nothing on its nodes.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

@test "after a job nothing is left on its nodes" {
    as_alice srun -N 2 --batchai-mount="$data:a:ro,tmpfs:t,overlay=$data:o" --batchai-prep=true true
    assert_clean
    run on_node n1 ls -A /run/batchai/jobs
    [ "$output" = "" ]
}

@test "after scancel nothing is left on the job's nodes" {
    running_job
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    assert_clean
}

@test "a process that has left its job's step is gone with the job" {
    as_alice srun --batchai-mount="$data:a:ro" sh -c 'setsid sleep 1003 >/dev/null 2>&1 & sleep 0.2'
    assert_clean
    [ -z "$(on_node_named '^sleep 1003')" ]
}

@test "a process that has left its job's namespaces does not outlive the job with the job's mounts" {
    for namespaces in "" "unshare --user --map-root-user --mount" "--pid --fork --mount-proc"; do
        leave_behind "unshare --user --map-root-user --mount $namespaces sh -c 'touch left; exec sleep 1003'"
        assert_clean
        no_roots_of_jobs
    done
}

@test "a process whose first thread has ended does not outlive its job" {
    leave_behind "/usr/bin/python3 -c '
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1003,)).start()
open(\"left\", \"w\")
ctypes.CDLL(None).pthread_exit(None)'"
    assert_clean
    no_roots_of_jobs
}

@test "the end of a job spares a process whose namespace reuses the number of an ended one" {
    need_root
    spaces=$BATCHAI_SOURCE/tests/cluster/namespaces.py
    write_script job.sh "setsid /usr/bin/python3 $spaces many $work/many >/dev/null 2>&1 &" "while [ ! -e roots.there ] || [ ! -e bobs.there ]; do sleep 0.1; done"
    submit_alice -N 1 -w n1 -o /dev/null --batchai-mount=tmpfs:t job.sh
    eventually test -e many.there
    on_node n1 setpriv --reuid alice --regid alice --init-groups /usr/bin/python3 "$spaces" slow "$work/slow" 3>&- &
    eventually test -e slow.there
    on_node n1 setpriv --reuid bob --regid bob --init-groups /usr/bin/python3 "$spaces" changing "$work/bobs" 3>&- &
    on_node n1 /usr/bin/python3 "$spaces" changing "$work/roots" 3>&- &
    [ "$(wait_job "$job")" = COMPLETED ]
    eventually test -e bobs -a -e roots
    [ "$(cat bobs roots)" = $'0\n0' ]
    [ -z "$(on_node_named '^/usr/bin/python3 .*namespaces.py many')" ]
    eventually no_slow_ones
}
no_slow_ones() { [ -z "$(on_node_named '^/usr/bin/python3 .*namespaces.py slow')" ]; }

@test "the end of a job ends no process of another job, of the same user or another" {
    need_root
    write_script job.sh 'touch started.$SLURM_JOB_ID' 'exec unshare --user --map-root-user --mount sleep 1003'
    for user in alice bob; do
        submit_as "$user" -N 1 -w n1 -o /dev/null --batchai-mount=tmpfs:t job.sh
        jobs+=("$job")
        eventually test -e "started.$job"
    done
    leave_behind "unshare --user --map-root-user --mount sh -c 'touch left; exec sleep 1004'"
    eventually is_not_running '^sleep 1004'
    [ "$(on_node_named '^sleep 1003' | wc -l)" = 2 ]
    scancel "${jobs[@]}"
    for job in "${jobs[@]}"; do [ "$(wait_job "$job")" = CANCELLED ]; done
}

@test "another user cannot hold up the jobs of a node by locking the plugin's files" {
    need_root
    on_node n1 mkdir -m 700 /run/batchai/jobs/mini-4000000 # an interrupted end, so that all files are there
    as_alice srun -w n1 --batchai-mount="$data:a:ro" true
    eventually on_node n1 test -e /run/batchai/ends -a ! -e /run/batchai/jobs/mini-4000000
    for file in "" /lock /ends /jobs; do
        run ! on_node n1 setpriv --reuid bob --regid bob --init-groups flock -n "/run/batchai$file" true
        [[ $output == *"Permission denied"* ]]
    done
}

@test "an interrupted end of a job is finished by the next job" {
    need_root
    on_node n1 mkdir -m 700 /run/batchai/jobs/mini-4000000
    on_node n1 touch /run/batchai/jobs/mini-4000000/ending
    as_alice srun -w n1 --batchai-mount="$data:a:ro" true
    eventually on_node n1 test ! -e /run/batchai/jobs/mini-4000000
}

@test "an end that is killed while it waits for a set-up is finished by the next job" {
    need_root
    running_job -N 1 -w n1 # the only teardown is the one that waits
    on_node n1 flock "/run/batchai/jobs/mini-$job" sleep 1005 &
    lock=$!
    eventually holds_lock
    scancel "$job"
    eventually tearing_down
    # shellcheck disable=SC2046
    kill -9 $(on_node_named '^batchai-helper teardown')
    # shellcheck disable=SC2046
    kill $(on_node_named '^sleep 1005')
    wait "$lock" || true
    [ "$(wait_job "$job")" = CANCELLED ]
    on_node n1 test -e "/run/batchai/jobs/mini-$job/ending"
    as_alice srun -w n1 --batchai-mount="$data:a:ro" true
    assert_clean
}

holds_lock() { [ -n "$(on_node_named '^sleep 1005')" ]; }
tearing_down() { [ -n "$(on_node_named "^batchai-helper teardown --job mini-$job")" ]; }

@test "files that the user could not remove stay, and the job's note stays until they are gone" {
    need_root
    on_node n1 sh -c 'cd /tmp && mkdir -p -m 777 project project/theirs && mkdir -m 700 project/theirs/private && touch project/theirs/private/data && chown -R bob: project'
    as_alice srun -w n1 --batchai-mount="$data:a:ro" sh -c 'mv /tmp/project/theirs /tmp/batchai-$SLURM_JOB_ID-*/ && mkdir -p $AZ_BATCHAI_JOB_TEMP/own/deep && chmod 0 $AZ_BATCHAI_JOB_TEMP/own'
    eventually job_is_over "$(last_job)"
    run on_node n1 sh -c 'find /tmp/batchai-* -name own -o -name data'
    [[ $output == /tmp/batchai-*/data ]]
    # The note stays too, until a user with the right to has removed the directory.
    run -1 on_node n1 batchai-helper teardown --job "$(last_job)"
    [[ $output == "batchai-helper: job $(last_job): /tmp/batchai-"*": is not removed yet: "* ]]
    on_node n1 sh -c 'find /tmp/batchai-* -name data -delete'
    as_alice srun -w n1 --batchai-mount="$data:a:ro" true
    on_node n1 sh -c 'rm -r /tmp/project'
    deadline=90 eventually nothing_left # the background process tries again at least once a minute
}

last_job() { on_node n1 sh -c 'ls /run/batchai/jobs'; }

@test "leftovers of a reboot are removed when slurmd starts" {
    need_root
    on_node n1 mkdir -m 700 /run/batchai/jobs/mini-4000001
    on_node n1 sh -c 'printf "restart=0\0namespace=own\0\0" >/run/batchai/jobs/mini-4000001/state; touch /run/batchai/jobs/mini-4000001/namespace'
    on_node n1 batchai-helper sweep --policy "$MINISLURM_DIR/batchai.toml"
    eventually on_node n1 test ! -e /run/batchai/jobs/mini-4000001
}

@test "a requeued job is set up again" {
    write_script job.sh 'touch $AZ_BATCHAI_JOB_TEMP/file.$SLURM_RESTART_COUNT' 'ls $AZ_BATCHAI_JOB_TEMP' 'touch started.${SLURM_RESTART_COUNT:-0}' '[ -e finish ] || sleep 1000'
    submit_alice -N 1 --requeue -o out --open-mode=append --batchai-mount="$data:a:ro" --batchai-prep='echo prepared >>preparations' job.sh
    eventually test -e started.0
    touch finish
    scontrol requeue "$job"
    sleep 2 # slurmd refuses a credential of the second in which the job was killed: "already killed"
    eventually runs_again started.1
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(wc -l <preparations)" = 2 ]
}

@test "many jobs one after the other and at once leave nothing" {
    rounds=$(often 20 2)
    for ((round = 0; round < rounds; round++)); do
        jobs=()
        for n in 1 2 3 4; do
            submit_alice -N 2 -o /dev/null --batchai-mount="$data:a:ro,tmpfs:t" --batchai-prep=true --wrap 'srun true'
            jobs+=("$job")
        done
        scancel "${jobs[round % 4]}"
        for job in "${jobs[@]}"; do [[ "$(wait_job "$job")" =~ ^(COMPLETED|CANCELLED)$ ]]; done
    done
}
