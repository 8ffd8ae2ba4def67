#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai-launch: agents that die or cannot start, and the nodes of agents in heterogeneous jobs.
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

# ---- agents that cannot start ---------------------------------------------------------------------

# cannot_start NODE HOW WHY [OPTION...]: a launch on three nodes ends at once, and says why the node's agent did not start.
cannot_start() {
    run salloc --quiet -N3 batchai-launch "${@:4}" -n 3 true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == "batchai-launch: the agent on $1 cannot start ($2): "*"$3" ]]
}

# without NODE FILE COMMAND...: while the file is empty on the node.
without() {
    local code=0
    on_node "$1" mount --bind /dev/null "$2"
    "${@:3}" || code=$?
    on_node "$1" umount "$2"
    return $code
}

@test "a node without libpmix ends the launch at once" {
    local library
    library=$(ldd "$BATCHAI_BUILD/bin/batchai-launch" | sed -n 's/.*libpmix.* => \([^ ]*\) .*/\1/p')
    without n2 "$(readlink -f "$library")" cannot_start n2 "exit code 127" "error while loading shared libraries: $library: file too short"
}

@test "a node without batchai-launch ends the launch at once" {
    local program=$BATCHAI_BUILD/bin/batchai-launch
    without n2 "$program" cannot_start n2 "exit code 13" "execve(): $program: Permission denied"
    on_node n2 mount -t tmpfs none "$BATCHAI_BUILD/bin"
    cannot_start n2 "exit code 2" "execve(): $program: No such file or directory" || code=$?
    on_node n2 umount "$BATCHAI_BUILD/bin"
    return "${code-0}"
}

@test "a node whose /tmp is read-only ends the launch at once, also if it is at the end of a branch" {
    on_node n3 mount -o remount,ro,bind /tmp
    cannot_start n3 "exit code 125" "making a directory in /tmp: Read-only file system" --radix 2 || code=$?
    on_node n3 mount -o remount,rw,bind /tmp
    return "${code-0}"
}

@test "a restart leaves out a node whose agent cannot start" {
    on_node n2 mount -o remount,ro,bind /tmp
    run salloc --quiet -N3 batchai-launch --restarts 1 --min-nodes 2 sh -c 'echo $SLURM_JOB_NODELIST'
    on_node n2 mount -o remount,rw,bind /tmp
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"batchai-launch: restart 1 of 1, on 2 nodes: n1 n3"* ]]
    [ "$(grep -cxF 'n[1,3]' <<<"$output")" -eq 2 ]
}

@test "--requeue-on node-fail requeues a job of a node whose agent cannot start" {
    on_node n2 mount -o remount,ro,bind /tmp
    submit -N2 -w n[1-2] --requeue --open-mode=append --output="$out" --wrap 'exec batchai-launch --requeue-on node-fail -n 2 true'
    is_requeued() { [ "$(job_field "$job" Restarts)" = 1 ] && [ "$(job_state "$job")" = PENDING ]; }
    eventually is_requeued || code=$?
    on_node n2 mount -o remount,rw,bind /tmp
    scancel "$job"
    cat "$out"
    return "${code-0}"
}

@test "a node whose slurmd is gone is named, and none whose agent Slurm has killed then" {
    cat >"$BATS_TEST_TMPDIR/script" <<'END'
#!/bin/sh
minislurm exec n2 pkill -KILL -f '^slurmd -N n2'
exec batchai-launch -n 3 true
END
    chmod +x "$BATS_TEST_TMPDIR/script"
    deadline=60 run salloc --quiet -N3 "$BATS_TEST_TMPDIR/script"
    on_node n2 slurmd -N n2
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"batchai-launch: the agent on n2 cannot start (Communication connection failure)" ]]
    is_up() { [ "$(sinfo -h -n n2 -o %T)" = idle ]; }
    eventually is_up
}
