#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A file server under a mount stops answering, and SIGKILL does not end a process that waits for it.
# Set-up and teardown end in time, and nothing is left when the server is back.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

server=$open/server # on each node; dead as long as $server.dead is there
rounds=$(often 20 2)

setup() {
    need_root
    enter_work
    mkdir -p "$server"
    for node in n1 n2; do
        on_node "$node" /usr/bin/python3 "$BATCHAI_SOURCE/tests/cluster/dead_server.py" "$server" "$server.dead" || skip "needs FUSE"
    done
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "${BATS_TEST_SKIPPED-}" ] || show_logs
    cd /
    back
    for node in n1 n2; do on_node "$node" umount "$server"; done # the server ends with it
    forget_outputs
    assert_clean
}

# The server of a node has got a request that it does not answer; back: it does.
asked() { for node in "$@"; do [ -e "$server.dead.asked.$node" ] || return; done; }
back() { rm -f "$server".dead*; }
notes_are_gone() { [ -z "$(on_node n1 ls /run/batchai/jobs)$(on_node n2 ls /run/batchai/jobs)" ]; }

@test "a file server that does not answer fails the set-up with one line, within its limits" {
    deadline=100
    for ((round = 0; round < rounds; round++)); do
        rm -f out
        touch "$server.dead"
        submit_alice -N 2 -o out --batchai-mount="$server/sub:s" --wrap 'touch started'
        [ "$(wait_job "$job")" = FAILED ]
        [ "$(one_line out)" = "batchai: n1: mount source $server/sub: no answer within 30 seconds" ]
        [ ! -e started ]
        eventually notes_are_gone
        back
        assert_clean_but_server
    done
}

@test "a job is cancelled while its set-up waits for a file server" {
    for ((round = 0; round < rounds; round++)); do
        rm -f out
        touch "$server.dead"
        submit_alice -N 2 -o out --batchai-mount="$server/sub:s" --wrap 'touch started'
        eventually asked n1
        scancel "$job"
        [ "$(wait_job "$job")" = CANCELLED ]
        [ "$(grep '^batchai: ' out)" = "batchai: n1: batchai-helper was ended by SIGTERM: the job was cancelled or reached its time limit" ]
        [ ! -e started ]
        eventually notes_are_gone
        back
        assert_clean_but_server
    done
}

@test "a dead file server holds up no job that does not use it" {
    printf '[[allow]]\nsource = "%s/sub"\n' "$server" | cat - "$MINISLURM_DIR/batchai.toml" >policy
    cat policy >"$MINISLURM_DIR/batchai.toml"
    touch "$server.dead"
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro,overlay=$data:o,tmpfs:t" --wrap 'srun cat $AZ_BATCHAI_JOB_MOUNT_ROOT/a/file'
    state=$(wait_job "$job")
    make_site
    back
    [ "$state" = COMPLETED ]
    [ "$(cat out)" = $'data\ndata' ]
}

# running_on_server: a job of two nodes whose task on each waits for its dead server.
running_on_server() {
    rm -f out started.*
    write_script job.sh 'srun sh -c "touch started.\$(hostname); until [ -e go ]; do sleep 0.1; done; cat \$AZ_BATCHAI_JOB_MOUNT_ROOT/s/file"'
    submit_alice -N 2 -o out --batchai-mount="$server/sub:s" job.sh
    eventually test -e started.n1 -a -e started.n2
    touch "$server.dead" go
    eventually asked n1 n2
    rm go
}

@test "a job whose file server dies goes on when it is back" {
    for ((round = 0; round < rounds; round++)); do
        running_on_server
        back
        [ "$(wait_job "$job")" = COMPLETED ]
        [ "$(cat out)" = $'data\ndata' ]
        assert_clean_but_server
    done
}

@test "a job whose file server is dead is cancelled, and nothing is left when the server is back" {
    for ((round = 0; round < rounds; round++)); do
        running_on_server
        scancel "$job"
        sleep 2
        back
        [ "$(wait_job "$job")" = CANCELLED ]
        assert_clean_but_server
    done
}

@test "the end of a job does not wait for a dead file server" {
    for ((round = 0; round < rounds; round++)); do
        running_on_server
        # Slurm itself waits for the task, and drains the node after UnkillableStepTimeout.
        # shellcheck disable=SC2046
        kill -9 $(on_node_named "^slurmstepd: .$job[.]")
        scancel "$job"
        eventually notes_are_gone
        eventually job_is_over "$job"
        [ "$(on_node_named '^cat /run/batchai/mnt/s/file' | wc -l)" = 2 ] # all that is left
        back
        assert_clean_but_server
    done
}

# The servers, which each test's teardown ends, are no leftovers of the job.
assert_clean_but_server() { eventually nothing_but_server; }
nothing_but_server() { [ -z "$(leftovers | grep -v 'running: .*dead_server\.py\|mounted: dead ')" ]; }
