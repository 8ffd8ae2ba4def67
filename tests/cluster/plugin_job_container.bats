#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Slurm gives each job a /tmp of its own (job_container/tmpfs): the job's mounts are in that namespace,
# and the plugin works as without it.
# minislurm: -n 2 -s PrologFlags=contain
# needs: root
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup_file() {
    make_site
    give_jobs_own_tmp n1 n2
}

setup() { enter_work; }

look='cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'

@test "the script and its steps have the mounts, one preparation per node, and a /tmp of the job's own" {
    write_script job.sh "$look" "srun sh -c '$look; touch \$AZ_BATCHAI_JOB_TEMP/mine'" 'ls $AZ_BATCHAI_JOB_TEMP' '! ls /tmp | grep -v batchai-'
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro,tmpfs:t,overlay=$data:o" --batchai-prep='echo x >>prepared.$(hostname)' job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat out)" = $'data\ndata\ndata\nhostfile\nmine' ]
    [ "$(cat prepared.n1 prepared.n2)" = $'x\nx' ]
}

@test "a step attached from outside of the job has the mounts" {
    write_script job.sh 'touch started' 'while [ ! -e go ]; do sleep 0.1; done'
    submit_alice -N 1 -o out --batchai-mount="$data:a:ro" job.sh
    eventually test -e started
    run as_alice srun --jobid "$job" --overlap sh -c "$look"
    touch go
    [ "$output" = data ]
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "jobs of two users at once on a node have each their own mounts" {
    write_script job.sh 'touch started.$USER' 'while [ ! -e go ]; do sleep 0.1; done' 'ls $AZ_BATCHAI_JOB_MOUNT_ROOT' 'ls -d /tmp/batchai-* | wc -l'
    submit_as alice -w n1 -o out.alice --batchai-mount="tmpfs:alice" job.sh
    alice=$job
    submit_as bob -w n1 -o out.bob --batchai-mount="tmpfs:bob" job.sh
    eventually test -e started.alice -a -e started.bob
    touch go
    for user in alice bob; do
        [ "$(wait_job "${!user-$job}")" = COMPLETED ]
        [ "$(cat "out.$user")" = "$user"$'\n1' ]
    done
}

@test "a process that has left its job's namespaces does not outlive the job with the job's mounts" {
    leave_behind "unshare --user --map-root-user --mount sh -c 'touch left; exec sleep 1003'"
    assert_clean
    eventually no_roots_of_jobs # Slurm's own namespace goes after the job's end
}

@test "the end of a job ends no process of another job" {
    submit_as alice -w n1 -o out --batchai-mount=tmpfs:t --wrap 'touch started; exec unshare --user --map-root-user --mount sleep 1003'
    eventually test -e started
    leave_behind "unshare --user --map-root-user --mount sh -c 'touch left; exec sleep 1004'"
    eventually is_not_running '^sleep 1004'
    runs '^sleep 1003'
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
}
@test "after scancel nothing is left" {
    running_job
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    assert_clean
}
