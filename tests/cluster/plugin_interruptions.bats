#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# At every stage of a job, Slurm's processes die, the job is cancelled or it reaches its time limit.
# Nothing of the job is left, and its user gets a message.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() {
    need_root
    enter_work
}

rounds=$(often 20)

# The script has not started, and out has one line of the plugin's.
not_started() {
    [ ! -e started ]
    [ "$(grep -c '^batchai: ' out)" = 1 ]
    # shellcheck disable=SC2053
    [[ $(grep '^batchai: ' out) == $1 ]]
}
told='batchai: n1: batchai-helper was ended by SIGTERM: the job was cancelled or reached its time limit'
cancelled='batchai: n?: *was cancelled*'

@test "after kill -9 of slurmstepd during the set-up nothing is left" {
    for ((round = 0; round < rounds; round++)); do
        submit_held
        kill_all "^slurmstepd: .$job[.]"
        scancel "$job"
        sleep 0.$((RANDOM % 5))
        let_go
        eventually job_is_over "$job"
        assert_clean
        [ ! -e started ]
    done
}

@test "after kill -9 of slurmstepd during the preparation nothing is left" {
    for ((round = 0; round < rounds; round++)); do
        rm -f preparing.*
        submit_alice -N 2 -o out --batchai-mount="$data:a:ro" --batchai-prep='touch preparing.$(hostname); sleep 1000' --wrap 'touch started'
        eventually test -e preparing.n1 -a -e preparing.n2
        kill_all "^slurmstepd: .$job[.]"
        scancel "$job"
        eventually job_is_over "$job"
        assert_clean
        [ ! -e started ]
    done
}

@test "after kill -9 of slurmstepd during the script nothing is left" {
    for ((round = 0; round < rounds; round++)); do
        running_job
        kill_all "^slurmstepd: .$job[.]"
        scancel "$job"
        eventually job_is_over "$job"
        assert_clean
    done
}

one_epilog() { [ "$(on_node_named '^[^ ]*slurmstepd spank epilog' | wc -l)" = 1 ]; } # that of n1, which waits

@test "after kill -9 of Slurm's process for the end of a job nothing is left when the next job has begun" {
    for ((round = 0; round < rounds; round++)); do
        running_job
        on_node n1 flock "/run/batchai/jobs/mini-$job" sleep 1004 &
        holder=$!
        eventually runs '^sleep 1004'
        scancel "$job"
        eventually runs "^batchai-helper teardown --job mini-$job"
        eventually one_epilog
        kill_all '^[^ ]*slurmstepd spank epilog'
        let_go
        eventually job_is_over "$job"
        scontrol update NodeName=n1 State=RESUME # for a killed epilog Slurm drains a node
        as_alice srun -N 2 --batchai-mount="$data:a:ro" true
        assert_clean
    done
}

@test "after kill -9 of the user's task nothing is left" {
    for ((round = 0; round < rounds; round++)); do
        running_job
        eventually runs 'sleep 1000$'
        kill_all 'sleep 1000$'
        [ "$(wait_job "$job")" = FAILED ]
        assert_clean
    done
}

@test "kill -9 of the step that prepares all nodes fails the job with one line" {
    for ((round = 0; round < rounds; round++)); do
        rm -f preparing.* out
        submit_alice -N 2 -o out --batchai-mount="$data:a:ro" --batchai-prep='touch preparing.$(hostname); sleep 1000' --wrap 'touch started'
        eventually test -e preparing.n1 -a -e preparing.n2
        kill_all '^srun .*--overlap --nodes 2'
        [ "$(wait_job "$job")" = FAILED ]
        not_started 'batchai: n1: srun was ended by signal 9'
        assert_clean
    done
}

@test "scancel during the set-up ends it with one line and leaves nothing" {
    for ((round = 0; round < rounds; round++)); do
        rm -f out
        submit_held
        scancel "$job"
        eventually is_not_running '^batchai-helper setup'
        let_go
        [ "$(wait_job "$job")" = CANCELLED ]
        not_started "$told"
        assert_clean
    done
}

@test "a job that runs out of time during its set-up or its preparation is told so and leaves nothing" {
    deadline=100
    submit_held
    first=$job
    submit_alice -N 2 -o out2 --batchai-mount="$data:a:ro" --batchai-prep='touch preparing.$(hostname); sleep 1000' --wrap 'touch started'
    eventually test -e preparing.n1 -a -e preparing.n2
    for id in "$first" "$job"; do
        scontrol update JobId="$id" EndTime=now+2 # the second that begins is in the past, which is refused
    done                                          # Slurm looks twice a minute
    eventually is_not_running '^batchai-helper setup'
    let_go
    [ "$(wait_job "$first")" = TIMEOUT ]
    [ "$(wait_job "$job")" = TIMEOUT ]
    not_started "$told"
    mv out2 out
    not_started "$cancelled"
}
