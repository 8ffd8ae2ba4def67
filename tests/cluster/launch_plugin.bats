#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# batchai-launch in a job of the plugin: mounts, preparation and variables are there already.
# minislurm: -n 2 -g 1
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # share is set by plugin.bash, job by submit_alice

load plugin

# job NODES TOOLKIT_SETTINGS [MORE_PROPERTIES]
job_file() {
    cat >"$share/job.json" <<END
{
    "properties": {
        "nodeCount": $1,
        $2,
        "stdOutErrPathPrefix": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        "mountVolumes": { "azureFileShares": [ {
            "azureFileUrl": "https://account.file.core.windows.net/myshare", "relativeMountPath": "myshare" } ] }
        ${3:+, $3}
    }
}
END
}

# run_job SCRIPT [SBATCH_OPTION]...: submits it, waits, and finds the files.
run_job() {
    rm -rf "$share/out"
    printf '#!/bin/sh\n%s\n' "$1" >"$share/script"
    submit_alice -N2 --batchai-job="$share/job.json" --output="$share/slurm.out" "${@:2}" "$share/script"
    state=$(wait_job "$job")
    files=$(find "$share/out" -name stdouterr)
    record=$(alice_home)/.local/share/batchai/jobs/$(basename "$(dirname "$files")")
}

@test "a script of one word runs the job it was submitted with" {
    echo 'import os; print("rank", os.environ["RANK"], os.environ["AZ_BATCHAI_JOB_MOUNT_ROOT"])' >"$share/train.py"
    job_file 2 '"horovodSettings": { "pythonScriptFilePath": "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/train.py", "processCount": 4 }' \
        '"jobPreparation": { "commandLine": "echo prepared" }'
    run_job batchai-launch
    [ "$state" = COMPLETED ]
    [ "$(sort "$files/stdout.txt")" = "$(for r in 0 1 2 3; do echo "rank $r /run/batchai/mnt"; done)" ]
    for node in n1 n2; do
        [ "$(cat "$files/stdout-job_prep-$node.txt")" = prepared ]
        grep -q 'starting ranks' "$files/execution-$node.log"
        grep -q '"kind":"finished"' "$record/events-$node.jsonl"
    done
    [ "$(jq .exitCode "$record/result.json")" = 0 ]
}

@test "a job whose PATH leads nowhere runs on every node" {
    job_file 2 '"customMpiSettings": { "commandLine": "echo $PATH", "processCount": 2 }' \
        '"jobPreparation": { "commandLine": "echo prepared" }, "environmentVariables": [ { "name": "PATH", "value": "/nope" } ]'
    run_job "exec $BATCHAI_BUILD/bin/batchai-launch"
    [ "$state" = COMPLETED ]
    [ "$(cat "$files/stdout.txt")" = $'/nope\n/nope' ]
}

@test "a failing rank fails the Slurm job with its code, and is named everywhere" {
    job_file 2 '"customMpiSettings": { "commandLine": "[ $RANK != 3 ] || exit 5; sleep 60", "processCount": 4 }'
    run_job batchai-launch
    [ "$state" = FAILED ]
    [ "$(job_field "$job" ExitCode)" = 5:0 ]
    line="batchai-launch: rank 3 on n2 exited with code 5 after"
    grep -q "^$line" "$share/slurm.out"
    grep -q "$line" "$files/execution-n2.log"
    jq -r .failure "$record/result.json" | grep -q "^$line"
    cat "$record"/events-*.jsonl | jq -r 'select(.kind == "failed").message' | grep -q "^$line"
}

@test "a command in a job of the plugin finds the mounts on every node" {
    job_file 2 '"customMpiSettings": { "commandLine": "true" }'
    run_job 'batchai-launch --ranks-per-node 1 ls $AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/job.json'
    [ "$state" = COMPLETED ]
    [ "$(grep -c myshare/job.json "$share/slurm.out")" -eq 2 ]
}

@test "a job file in an allocation without the plugin's work is refused, and how to submit it is told" {
    job_file 2 '"customMpiSettings": { "commandLine": "true" }'
    run -125 salloc --quiet -N2 batchai-launch --policy "$MINISLURM_DIR/batchai.toml" --job "$share/job.json"
    [[ $output = *"sbatch --batchai-job"* ]]
}

@test "in salloc the job file is run by a step on the first node, as the error says" {
    job_file 2 '"customMpiSettings": { "commandLine": "echo rank $RANK", "processCount": 2 }' \
        '"jobPreparation": { "commandLine": "echo prepared" }'
    run -125 as_alice salloc --quiet -N2 --batchai-job="$share/job.json" batchai-launch
    [[ $output = *"the job's mounts and preparation are missing here: run 'srun -N1 -n1 --overlap batchai-launch'"* ]]
    run -0 as_alice salloc --quiet -N2 --batchai-job="$share/job.json" srun -N1 -n1 --overlap batchai-launch
    [ "$(sort "$(find "$share/out" -name stdout.txt)")" = $'rank 0\nrank 1' ]
}

starts_again() {
    [ "$(job_field "$job" Restarts)" = 1 ] && [ "$(job_state "$job")" = PENDING ] &&
        scontrol update JobId="$job" StartTime=now ReqNodeList=n2
}

@test "a requeued job's stdout.txt and stderr.txt keep its earlier output" {
    job_file 1 '"customMpiSettings": { "commandLine": "echo out of run ${SLURM_RESTART_COUNT:-0}; printf errors >&2; [ -n \"$SLURM_RESTART_COUNT\" ]", "processCount": 1 }'
    rm -rf "$share/out"
    printf '#!/bin/sh\nexec batchai-launch --requeue-on failure\n' >"$share/script"
    submit_alice -N1 -w n1 --batchai-job="$share/job.json" --open-mode=append --output="$share/slurm.out" "$share/script"
    eventually starts_again
    [ "$(wait_job "$job")" = COMPLETED ]
    files=$(find "$share/out" -name stdouterr)
    line="batchai-launch: job $job runs again (requeue 1): its output goes on here"
    [ "$(cat "$files/stdout.txt")" = "out of run 0"$'\n'"$line"$'\n'"out of run 1" ]
    [ "$(cat "$files/stderr.txt")" = errors$'\n'"$line"$'\n'errors ]
    [ "$(grep -c 'starting ranks' "$files/execution.log")" = 2 ]
}

# without_plugin NODE COMMAND...: while the node's plugstack.conf is empty.
without_plugin() {
    local code=0
    on_node "$1" mount --bind /dev/null "$MINISLURM_DIR/etc/plugstack.conf"
    "${@:2}" || code=$?
    on_node "$1" umount "$MINISLURM_DIR/etc/plugstack.conf"
    return $code
}
# are_missing NODE TEXT: batchai-launch says that and no more.
are_missing() {
    sed -E 's/^(batchai-launch: .*: the mounts of job )[0-9]+ /\1N /' <<<"$2" | diff - <(
        echo "batchai-launch: $1: the mounts of job N are missing, so the plugin has not prepared this node for it. Check that the node's plugstack.conf has the plugin's line, and look into slurmd's log there"
    )
}

@test "in salloc no rank starts where a node lacks the plugin, and the node is named" {
    need_root
    run -125 without_plugin n2 as_alice salloc -Q -N2 --batchai-mount="$data:a:ro" batchai-launch --ranks-per-node 1 touch "$share/ran"
    are_missing n2 "$output"
    [ ! -e "$share/ran" ]
}

@test "with first-step in the policy no rank starts on a node without the plugin, whatever the script's node is" {
    need_root
    local node
    make_site 'prepare = "first-step"'
    printf '#!/bin/sh\nbatchai-launch --ranks-per-node 1 touch %s\n' "$share/ran" >"$share/script"
    for node in n1 n2; do # the first one runs the script, whose variables reach the other
        without_plugin "$node" submit_and_wait -N2 --batchai-mount="$data:a:ro" -o "$share/slurm.out" "$share/script"
        [ "$state" = FAILED ]
        are_missing "$node" "$(cat "$share/slurm.out")"
        [ ! -e "$share/ran" ]
    done
    make_site
}
submit_and_wait() {
    submit_alice "$@"
    state=$(wait_job "$job")
}

@test "in a step of one node no rank starts where a node lacks the plugin" {
    need_root
    run ! without_plugin n2 as_alice salloc -Q -N2 --batchai-mount="$data:a:ro" srun -N1 -n1 --overlap batchai-launch --ranks-per-node 1 touch "$share/ran"
    are_missing n2 "$(grep '^batchai-launch: ' <<<"$output")"
    [ ! -e "$share/ran" ]
}

@test "variables that a user has set do not make a node ready" {
    need_root
    run without_plugin n2 as_alice salloc -Q -N2 --batchai-mount="$data:a:ro" \
        bash -c 'BATCHAI_NODE_READY=$SLURM_JOB_ID AZ_BATCHAI_JOB_MOUNT_ROOT=/tmp batchai-launch --ranks-per-node 1 touch '"$share/ran"
    [ "$status" = 125 ]
    are_missing n2 "$output"
    [ ! -e "$share/ran" ]
}

@test "a job without options is not refused where a node lacks the plugin" {
    need_root
    run -0 without_plugin n2 as_alice salloc -Q -N2 batchai-launch --ranks-per-node 1 sh -c 'echo $SLURMD_NODENAME'
    [ "$(sort <<<"$output")" = $'n1\nn2' ]
}

# Slurm gives the components of a heterogeneous job different nodes.
@test "a step of the second component of a heterogeneous job is not refused, and has its component's mounts" {
    need_root
    local option=--batchai-mount=$data:a:ro
    write_script "$share/script" 'for group in 0 1; do
        srun -Q --het-group=$group -N1 -n1 --overlap batchai-launch --ranks-per-node 1 sh -c \
            "echo $group on \$SLURMD_NODENAME: \$(sed -n \"s/.* - tmpfs batchai-\([0-9]*\)-.*/\1/p\" /proc/self/mountinfo)"
    done
    echo $SLURM_JOB_ID_HET_GROUP_0 $SLURM_JOB_ID_HET_GROUP_1'
    run -0 as_alice salloc -Q -N1 "$option" : -N1 "$option" "$share/script"
    read -r first second <<<"${lines[-1]}"
    [ "$first" != "$second" ]
    [[ ${lines[0]} = "0 on n"[12]": $first" ]]
    [[ ${lines[1]} = "1 on n"[12]": $second" ]]
}

@test "the job file of a heterogeneous job's second component is not refused in a step of that component" {
    need_root
    job_file 1 '"customMpiSettings": { "commandLine": "echo rank $RANK", "processCount": 1 }'
    rm -rf "$share/out"
    run -0 as_alice salloc -Q -N1 : -N1 --batchai-job="$share/job.json" srun --het-group=1 -N1 -n1 --overlap batchai-launch
    [ "$(cat "$(find "$share/out" -name stdout.txt)")" = 'rank 0' ]
}
