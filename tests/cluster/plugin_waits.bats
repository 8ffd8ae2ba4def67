#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# No job of a user waits for another user's leftovers on the node.
# minislurm: -n 1
# needs: root ptrace
# plugin: policy=/run/minislurm/batchai.toml

load kills

setup_file() {
    make_site
    make_libexec
    as_alice srun -Q --batchai-mount="$data:a:ro" true # what the node's first job makes is there then
}

# held PROGRAM DIRECTORY: from now on strace stops each process that the program starts, at the first file that it removes
# in the directory, until end_strace. strace has a session of its own (-DDD), so Slurm neither waits for it nor ends it.
held() { with_fault "$1" -DDD -f -P "$2" -e trace=unlinkat -e inject=unlinkat:delay_enter=100000000:when=1; }

# remover OF: the process that removes a user's files, by its number here.
remover() { pgrep -u "$1" -f '^[^ ]*batchai-helper'; }

# left_by_alice: a job of hers whose end was killed; root's notes of it are in $rest, her files in $temp.
left_by_alice() {
    with_fault 'batchai-helper teardown' -f -e trace=umount2 -e inject=umount2:signal=SIGKILL:when=1
    run_job
    [ "$state" = COMPLETED ]
    rest=/run/batchai/jobs/mini-$job.1
    on_node n1 test -e "$rest/ending"
    temp=$(on_node n1 sh -c "echo /tmp/batchai-$job-*")
    with_fault
}
is_gone() { on_node n1 test ! -e "$rest"; }

@test "a user can neither end, stop nor trace the process that removes her files" {
    submit_alice -N 1 -o out --batchai-mount="$mounts" --wrap 'echo /tmp/batchai-$SLURM_JOB_ID-* >temp; sleep 1000'
    eventually test -s temp
    held 'batchai-helper teardown' "$(cat temp)"
    scancel "$job"
    eventually remover alice
    pid=$(remover alice)
    cat "/proc/$pid/status"
    read -r _ real effective saved files < <(grep '^Uid:' "/proc/$pid/status")
    [ "$effective $files" = "2001 2001" ]
    [ "$real $saved" = "65534 65534" ]
    [ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):.0+$' "/proc/$pid/status")" = 4 ] # so it cannot be root again
    for signal in STOP TERM KILL; do
        run ! as_alice kill -"$signal" "$pid"
        [[ $output == *"not permitted"* ]]
    done
    for file in mem environ cwd/ fd/0; do
        ! as_alice head -c 1 "/proc/$pid/$file" || false
    done
    end_strace
    [ "$(wait_job "$job")" = CANCELLED ]
}

@test "the end of a job does not wait for another user's leftovers" {
    left_by_alice
    held 'batchai-helper' "$temp"
    for _ in 1 2; do
        submit_as bob -N 1 -o /dev/null --batchai-mount=tmpfs:t --wrap true
        [ "$(wait_job "$job")" = COMPLETED ] # with its epilog
        eventually remover alice             # is at work
        [ "$(remover alice | wc -l)" = 1 ]   # and no start or end of a job has started another one
        on_node n1 test -e "$rest"
    done
    end_strace
    eventually is_gone
}

@test "the start of a job does not wait for another user's leftovers" {
    left_by_alice
    held 'batchai-helper' "$temp"
    submit_as bob -N 1 -o /dev/null --batchai-mount=tmpfs:t --wrap 'touch started.bob; sleep 1000'
    eventually test -e started.bob
    on_node n1 test -e "$rest"
    ! pgrep -u alice -f 'batchai-helper setup' || false # which would be in bob's cgroup, where his job waited for it
    end_strace
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    eventually is_gone
}

@test "the start of slurmd does not wait for users' leftovers" {
    left_by_alice
    held 'batchai-helper sweep' "$temp"
    on_node n1 "$libexec/batchai-helper" sweep --policy "$MINISLURM_DIR/batchai.toml"
    eventually remover alice
    on_node n1 test -e "$rest"
    end_strace
    eventually is_gone
}

@test "the end of a job reads no mounts of namespaces that another user has made" {
    as_user alice true
    on_node n1 setpriv --reuid alice --regid alice --init-groups unshare --user --map-root-user --mount sleep 1003 3>&- &
    eventually runs '^sleep 1003'
    pid=$(on_node n1 pgrep -xf 'sleep 1003')
    with_fault 'batchai-helper teardown' -f -e trace=openat
    submit_as bob -N 1 -o /dev/null --batchai-mount=tmpfs:t --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    grep -F '/ns/mnt' "$trace" # it has looked for bob's
    grep -F "/proc/$pid/task/$pid/ns/mnt" "$trace"
    ! grep -F "/proc/$pid/task/$pid/mountinfo" "$trace" || false
    kill_all '^sleep 1003'
}
