#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai-launch: agents that die, and the nodes of agents in heterogeneous jobs.
# minislurm: -n 3
#
# shellcheck disable=SC2154 # job, status and output are set by submit and run

load lib

setup() { out=$BATS_TEST_TMPDIR/out; }

# A pattern for guard and agent that does not match the shell that searches for it.
agents_of() { on_node "$1" pgrep -f 'batchai-launch --[a]gent'; }
has_ranks() { on_node "$1" pgrep -fx 'sleep 301'; }

# died NODE: how a launch on n1 and n2 ended.
died() {
    status=0
    wait "$launch" || status=$?
    [ "$status" -eq 125 ]
    [ "$(grep -c '^batchai-launch: .*the agent' "$out")" -eq 1 ]
    grep -qx "$1" "$out"
}

@test "an agent that a signal has ended is not reported as a node that is down" {
    for signal in SEGV ABRT; do
        salloc --quiet -N2 batchai-launch -n 2 sleep 301 >"$out" 2>&1 &
        launch=$!
        eventually has_ranks n2
        on_node n2 kill -$signal "$(agents_of n2 | tail -n 1)"
        died "batchai-launch: the agent on n2 died of SIG$signal"
    done
}

@test "an agent with --local that a signal has ended is not reported as a node that is down" {
    timeout -k 2 30 batchai-launch --local 2 -n 2 sleep 301 >"$out" 2>&1 &
    launch=$!
    eventually pgrep -fx 'sleep 301'
    local agent
    agent=$(pgrep -f 'batchai-launch --[a]gent' | tail -n 1)
    kill -SEGV "$agent"
    died 'batchai-launch: the agent on .* died of SIGSEGV'
}

@test "an agent that dies together with its guard is not reported as ended by a signal" {
    salloc --quiet -N2 batchai-launch -n 2 sleep 301 >"$out" 2>&1 &
    launch=$!
    eventually has_ranks n2
    # A stopped guard does not see its agent die.
    # shellcheck disable=SC2046 # two words
    on_node n2 sh -c 'kill -STOP "$1" && kill -KILL "$2" && kill -KILL "$1"' - $(agents_of n2)
    died 'batchai-launch: lost the agent on n2: the node is down, or the agent was killed with its guard'
    # Only the next launch of the user removes what both have left.
    salloc --quiet -N2 batchai-launch -n 2 true
}

@test "an agent that dies before it has called does not leave the launch waiting" {
    # It reads hwloc's file before it calls, and waits there.
    mkfifo "$BATS_TEST_TMPDIR/topology"
    HWLOC_XMLFILE=$BATS_TEST_TMPDIR/topology salloc --quiet -N2 batchai-launch -n 2 true >"$out" 2>&1 &
    launch=$!
    two_agents() { [ "$(agents_of n2 | wc -l)" -eq 2 ]; }
    eventually two_agents
    on_node n2 kill -ABRT "$(agents_of n2 | tail -n 1)"
    let_go() {
        timeout 0.2 sh -c ': >"$1"' - "$BATS_TEST_TMPDIR/topology" || true
        ! kill -0 "$launch" 2>/dev/null
    }
    eventually let_go
    died 'batchai-launch: the agent on n2 died of SIGABRT'
}

@test "a user without HOME and without an account on the node does not end the agents" {
    need_root
    for nodes in 1 2; do
        run timeout -k 2 60 setpriv --reuid 12345 --regid 12345 --clear-groups env -u HOME \
            batchai-launch --local "$nodes" -n 2 "$BATCHAI_BUILD/tests/peers/pmix_check" exchange
        [ "$status" -eq 0 ]
    done
}

@test "a heterogeneous job is not refused: the ranks run on the component that srun would take" {
    # In the batch script, by number, and with salloc, which names no nodes itself.
    submit -N1 --output="$out" : -N2 --wrap 'batchai-launch -n 2 hostname; echo "code $?"
        srun --het-group=1 -N1 -n1 batchai-launch --ranks-per-node 1 hostname; echo "code $?"'
    wait_job "$job"
    [ "$(grep -cx 'code 0' "$out")" -eq 2 ]
    [ "$(sed '/code/d' "$out" | sort | tr '\n' ' ')" = "n1 n1 n2 n3 " ]
    run -0 salloc --quiet -N1 : -N2 batchai-launch -n 2 hostname
    [ "$(grep -c '^n1$' <<<"$output")" -eq 2 ]
}

@test "a step of several components of a heterogeneous job is not started on some of its nodes" {
    run ! salloc --quiet -N1 : -N1 srun --het-group=0,1 batchai-launch -n 2 hostname
    [[ $output = *"batchai-launch: this step is part of several components of a heterogeneous job"* ]]
    [[ $output != *$'\nn'[0-9]* ]]
}
