#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The ports of batchai-launch, and processes that do not belong to its job.
# minislurm: -n 3 -s "TaskProlog=/run/minislurm/task_prolog"
#
# The start must not complete, so that the ports stay open: n3's agent waits until a file is removed.
# shellcheck disable=SC2154 # status and output are set by run

load lib

setup_file() {
    # shellcheck disable=SC2016 # the prolog's
    printf '#!/bin/sh\nwhile [ -e %s/hold ] && [ "$SLURMD_NODENAME" = n3 ]; do sleep 0.1; done\n' \
        "$MINISLURM_DIR" >"$MINISLURM_DIR/task_prolog"
    chmod +x "$MINISLURM_DIR/task_prolog"
}

setup() { need_root; } # ss shows whose a port is

teardown() {
    rm -f "$MINISLURM_DIR/hold"
    pkill -KILL -f '^[^ ]*python3 [^ ]*/strangers[.]py' || true # of this cluster: it has process numbers of its own
    assert_clean
}

# begin_job ARGUMENT...: batchai-launch on three nodes, the third of which waits; its output goes to out.
begin_job() {
    touch "$MINISLURM_DIR/hold"
    # shellcheck disable=SC2016 # the shell's
    salloc --quiet -N3 bash -c 'ulimit -Sn 1024; exec batchai-launch "$@"' - "$@" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    launcher=$!
}

# end_job: lets the third agent start, and waits for the job's end.
end_job() {
    rm "$MINISLURM_DIR/hold"
    status=0
    wait "$launcher" || status=$?
    output=$(cat "$BATS_TEST_TMPDIR/out")
}

# ports [COMMAND...]: where a batchai-launch listens for others, here, or where COMMAND runs. On the login node it has
# inherited a port of salloc's; on a node the PMIx server of an agent has one for the node's ranks.
ports() { "$@" ss -Hltnp | awk '/batchai-launch/ && !/salloc/ && $4 !~ /^127/ { print $4 }'; }
has_port() { [ -n "$(ports "$@")" ]; }

# hold PORT [COMMAND...]: 1,200 idle connections to it, until the test ends.
hold() {
    local n address=$1
    [[ $address != 0.0.0.0:* ]] || address=127.0.0.1:${address##*:}
    for n in 1 2; do # two processes: one may have 1,024 descriptors only
        "${@:2}" python3 "$BATCHAI_SOURCE/tests/cluster/strangers.py" "$address" 600 >"$BATS_TEST_TMPDIR/held.$n" 2>&1 3>&- &
    done
    for n in 1 2; do eventually grep -q held "$BATS_TEST_TMPDIR/held.$n"; done
}

@test "1,200 idle connections to the launcher's port do not keep a job from starting" {
    begin_job -n 3 sh -c 'echo "rank $RANK is fine"'
    eventually has_port
    hold "$(ports)"
    end_job
    [ "$status" -eq 0 ]
    [ "$(grep -c 'is fine$' <<<"$output")" -eq 3 ]
}

@test "1,200 idle connections to an agent's port do not keep a job from starting" {
    begin_job --radix 2 -n 3 "$BATCHAI_BUILD/tests/peers/pmix_check" exchange # n3 calls n1
    eventually has_port on_node n1
    hold "$(ports on_node n1)" on_node n1
    end_job
    [ "$status" -eq 0 ]
    [ "$(grep -c 'is fine$' <<<"$output")" -eq 3 ]
}

@test "no port of a job is open on all addresses, and none that agents call once they have met" {
    begin_job --radix 2 -n 3 sh -c 'echo up; exec sleep 300'
    eventually has_port
    eventually has_port on_node n1
    tree=$(ports on_node n1)
    [[ $(ports) = 10.87.* ]]
    [[ $tree = 10.87.0.11:* ]]
    rm "$MINISLURM_DIR/hold"
    eventually grep -q up "$BATS_TEST_TMPDIR/out"
    [ -z "$(ports)" ]
    for node in n1 n2 n3; do
        ports on_node $node >"$BATS_TEST_TMPDIR/ports"
        ! grep -q -e '^0' -e '^\*' -e "^$tree\$" "$BATS_TEST_TMPDIR/ports" || return 1
    done
    scancel --name=bash
    wait "$launcher" || true
}

@test "a local job has no port that other machines reach" {
    timeout -k 2 60 batchai-launch --local 7 --radix 2 -n 7 sh -c 'echo up; exec sleep 300' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    eventually grep -q up "$BATS_TEST_TMPDIR/out"
    [ -z "$(ports)" ]
    kill $!
    wait $! || true
}

@test "agents that cannot reach the launcher say at which address, and which option helps" {
    run -125 salloc --quiet -N2 batchai-launch --interface lo true
    [[ $output == *"batchai-launch: the agent on n"?" cannot start (exit code 125): n"?": cannot reach batchai-launch: 127.0.0.1:"*": Connection refused. With --interface, name a network that all nodes reach."* ]]
}
