#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Job preparation. A failure on a node prints one line, and the job's script never starts.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup() { enter_work; }

# failed_with LINE OUTPUT_FILE: the job has failed, its script has not started, its output is LINE.
failed_with() {
    [ "$(wait_job "$job")" = FAILED ]
    [ "$(job_field "$job" ExitCode)" = 1:0 ]
    run -0 one_line "$2"
    # shellcheck disable=SC2053 # a pattern
    [[ $output == $1 ]]
}

@test "preparation runs once on every node, as the user, before the script" {
    write_script job.sh 'cat prepared.*' 'srun --ntasks-per-node=2 true'
    submit_alice -N 2 -n 4 -o out --batchai-prep='sleep 0.2; id -u >>prepared.$(hostname)' job.sh
    [ "$(wait_job "$job")" = COMPLETED ]
    uid=$(as_alice id -u)
    [ "$(cat out)" = "$uid"$'\n'"$uid" ]
    [ "$(cat prepared.n1 prepared.n2)" = "$uid"$'\n'"$uid" ]
}

@test "preparation's output is in a file per node, in the directory of --batchai-output" {
    submit_alice -N 2 -o out --batchai-output=logs --batchai-prep='echo said by $(hostname); echo error >&2' --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    for node in n1 n2; do
        [ "$(cat "logs/stdout-job_prep-$node.txt")" = "said by $node" ]
        [ "$(cat "logs/stderr-job_prep-$node.txt")" = error ]
        grep -q "preparation" "logs/execution-$node.log"
    done
}

@test "a job file's preparation writes to its output directory and its record" {
    write_job job.json 2 'echo prepared $AZ_BATCHAI_NUM_GPUS'
    submit_alice -N 2 -o out --batchai-job=job.json --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    logs=$(stdouterr)
    for node in n1 n2; do
        grep -q prepared "$logs/stdout-job_prep-$node.txt"
        [ -e "$logs/stderr-job_prep-$node.txt" ]
        [ -e "$logs/execution-$node.log" ]
        [ "$(wc -l <"$(record)/events-$node.jsonl")" = 3 ]
    done
}

@test "a job file on one node has its files without the node's name" {
    write_job job.json 1 'echo prepared'
    submit_alice -N 1 -o out --batchai-job=job.json --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat "$(stdouterr)/stdout-job_prep.txt")" = prepared ]
    [ -e "$(stdouterr)/execution.log" ]
}

@test "each task of a job array has its own output and its own record" {
    write_job job.json 2 'echo prepared'
    write_script job.sh 'echo "$SLURM_ARRAY_TASK_ID" >"$AZ_BATCHAI_STDOUTERR_DIR/task"' 'cp "$BATCHAI_JOB_FILE" "$AZ_BATCHAI_STDOUTERR_DIR/"'
    submit_alice -N 2 --array=3-4 -o out.%a --batchai-job=job.json job.sh
    eventually queue_is_empty
    uuid=$(basename "$(dirname "$(find "$(alice_home)/.local/share/batchai/jobs" -name 'events-n1.jsonl' -path '*-3/*')")")
    uuid=${uuid%-3}
    for task in 3 4; do
        logs=$(find "$share/out" -path "*/$uuid-$task/stdouterr")
        [ "$(cat "$logs/task")" = "$task" ]
        for node in n1 n2; do
            [ "$(cat "$logs/stdout-job_prep-$node.txt")" = prepared ]
            [ -s "$(alice_home)/.local/share/batchai/jobs/$uuid-$task/events-$node.jsonl" ]
        done
        [ "$(jq -r .batchai.uuid "$logs/job.json")" = "$uuid-$task" ]
        [ ! -s "out.$task" ]
    done
}

@test "a job that is submitted from a task of a job array is no task of that array" {
    write_job job.json 2 'echo prepared'
    export SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=7
    submit_alice -N 2 -o out --batchai-job=job.json --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    [ ! -s out ]
    as_alice srun -N 2 --batchai-job=job.json true
    [ "$(find "$(alice_home)/.local/share/batchai/jobs" -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
    [ "$(find "$(alice_home)/.local/share/batchai/jobs" -name 'events-n?.jsonl' -not -path '*-7/*' | wc -l)" = 4 ]
    SLURM_ARRAY_TASK_ID=abc submit_alice -N 1 -o out --batchai-prep=true --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
}

@test "preparation has the user's environment and its directory" {
    export COLOUR=blue
    submit_alice -N 2 -o out --batchai-output="$work/logs" --batchai-prep='echo $COLOUR $PWD' --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(cat logs/stdout-job_prep-n2.txt)" = "blue $work" ]
}

@test "preparation has the limits, the mask, the priority and the directory of the script, on every node" {
    write_script facts 'ulimit -S -a' 'ulimit -H -a' 'umask' 'nice' 'pwd' 'env | grep SLURM_RLIMIT || true' \
        'cut -d: -f3 /proc/self/cgroup'
    write_script job.sh './facts >script' 'srun sh -c "./facts >step.\$(hostname)"'
    (
        ulimit -S -n 300 -c 0 -s 4096 -v 8000000
        umask 027
        submit_alice -N 2 -o out --batchai-output=logs --batchai-prep='./facts >prepared.$(hostname)' job.sh
        echo "$job" >job
    )
    [ "$(wait_job "$(cat job)")" = COMPLETED ]
    [ ! -s out ]
    grep -q 'open files.* 300$' script
    grep -qx 0027 script
    diff script prepared.n1
    for node in n1 n2; do diff "step.$node" "prepared.$node"; done
    run grep "resource limit" logs/execution-*.log
    [ "$output" = "" ]
}

@test "a limit that a node does not allow is a line in its log, and no failure" {
    need_root
    most=$(ulimit -H -n)
    on_node n1 sh -c "prlimit --pid \$(cat '$MINISLURM_DIR/node/n1/slurmd.pid') --nofile=$((most / 2)):$((most / 2))"
    (
        ulimit -S -n "$most"
        submit_alice -w n1 -o out --batchai-output=logs --batchai-prep='ulimit -S -n >prepared' --wrap 'ulimit -S -n >script'
        echo "$job" >job
    )
    [ "$(wait_job "$(cat job)")" = COMPLETED ]
    diff script prepared
    grep -q "resource limit NOFILE of the submission is $most, above this node's hard limit of $((most / 2)): not set" logs/execution-n1.log
}

@test "a preparation gets no file of root's" {
    as_alice srun --batchai-prep='ls -l /proc/self/fd /proc/$PPID/fd >files 2>&1; cp /proc/self/fd/3 copy' true || true
    grep -q "/dev/null" files
    run grep -E "batchai/|/preparation" files
    [ "$output" = "" ]
    [ ! -e copy ]
}

@test "scancel ends the tasks that wait for their node's preparation" {
    as_alice srun -N 1 -n 3 --job-name=waiting --batchai-prep='touch started; sleep 1000' touch ran >waiting.out 2>&1 &
    waiting=$!
    eventually test -e started
    scancel --name=waiting
    wait "$waiting" || true
    [ ! -e ran ]
}

@test "preparation runs for srun and salloc too" {
    run as_alice srun -N 2 --ntasks-per-node=3 --batchai-prep='echo x >>prepared.$(hostname)' sh -c 'cat prepared.$SLURMD_NODENAME'
    [ "$output" = $'x\nx\nx\nx\nx\nx' ]
    run as_alice salloc -N 1 --batchai-prep='echo y >>again' sh -c 'srun true; srun cat again'
    [ "$(grep -c '^y$' <<<"$output")" = 1 ]
}

@test "preparation works with every way to ask for resources" {
    for options in "-N2 -n3 -c2 --mem-per-cpu=10" "-N2 --exclusive" "-N2 --mem=100" "-N2 --hint=nomultithread" \
        "-N2 --ntasks-per-node=2" "-N2 --distribution=cyclic" "-N2 --export=NONE" "-N2 --export=A=1"; do
        # shellcheck disable=SC2086 # several options
        submit_alice $options -o out --batchai-output="$work" --batchai-prep='echo x >>prepared' --wrap /bin/true
        [ "$(wait_job "$job")" = COMPLETED ] || {
            echo "$options: $(cat out)" >&2
            return 1
        }
        [ "$(wc -l <prepared)" = 2 ]
        rm prepared
    done
}

@test "a failing preparation fails the job with one line, and the script never starts" {
    submit_alice -N 2 -o out --batchai-output="$work/logs" --batchai-prep='if [ $(hostname) = n2 ]; then echo why >&2; exit 3; fi' --wrap 'touch started'
    failed_with "batchai: n2: job preparation failed with exit code 3; see $work/logs/stderr-job_prep-n2.txt" out
    [ ! -e started ]
    [ "$(cat logs/stderr-job_prep-n2.txt)" = why ]
    grep -qF "$(cat out)" logs/execution-n2.log
}

@test "a failing preparation of a job file is in its execution log and its record with the same line" {
    write_job job.json 1 'exit 3'
    submit_alice -N 1 -o out --batchai-job=job.json --wrap 'touch started'
    failed_with "batchai: n1: job preparation failed with exit code 3; see *stderr-job_prep.txt" out
    [ -e "$(sed 's/.*; see //' out)" ] # on the login node
    [ ! -e started ]
    grep -qF "$(cat out)" "$(stdouterr)/execution.log"
    grep -qF "$(cat out)" "$(record)/events-n1.jsonl"
    [ ! -s "$(stdouterr)/stdout.txt" ]
    diff out "$(stdouterr)/stderr.txt"
}

@test "a hanging preparation is stopped after the policy's time" {
    make_site 'preparation_timeout = 2'
    submit_alice -N 1 -o out --batchai-output="$work/logs" --batchai-prep='sleep 1000 & setsid sleep 1001 & sleep 1002' --wrap 'touch started'
    failed_with "batchai: n1: job preparation was stopped after 2 seconds, the site's limit; see $work/logs/stderr-job_prep-n1.txt" out
    make_site
    [ ! -e started ]
}

@test "the job's line is that of the failed node, not of the nodes that were cancelled" {
    submit_alice -N 2 -o out --batchai-output="$work/logs" --batchai-prep='[ $(hostname) = n1 ] || exit 3; trap "sleep 1; exit 1" TERM; sleep 1000 & wait' --wrap 'touch started'
    failed_with "batchai: n2: job preparation failed with exit code 3; see $work/logs/stderr-job_prep-n2.txt" out
    [ ! -e started ]
}

@test "a preparation whose task is killed is logged once, by the next task of the node" {
    write_job job.json 1 'kill -9 $(ps -o ppid= $PPID)'
    run as_alice salloc -N 1 --batchai-job=job.json sh -c 'srun true; srun true; srun true'
    line="batchai: n1: job preparation was interrupted"
    [ "$(grep -cxF "$line" <<<"$output")" = 2 ]
    [ "$(grep -cF "$line" "$(stdouterr)/execution.log")" = 1 ]
    [ "$(grep -cF "$line" "$(record)/events-n1.jsonl")" = 1 ]
}

@test "a FIFO in a log's place fails the job with one line and hangs nothing" {
    mkdir -m 777 logs
    mkfifo -m 666 logs/stderr-job_prep-n1.txt
    submit_alice -N 1 -o out --batchai-output=logs --batchai-prep=true --wrap 'touch started'
    failed_with "batchai: n1: job preparation: its logs cannot be written: $work/logs/stderr-job_prep-n1.txt: not a regular file" out
    [ ! -e started ]
}

@test "a submission's directory that a node lacks fails the job with one line, and is not made" {
    for output in "" --batchai-output=logs; do
        mkdir -p -m 777 here
        # shellcheck disable=SC2086 # none or one
        (cd here && submit_alice -H -D "$work" -o out $output --batchai-prep=true --wrap 'touch started' && echo "$job" >../job)
        job=$(cat job)
        rmdir here
        scontrol release "$job"
        [ "$(wait_job "$job")" = FAILED ]
        [ "$(one_line out)" = "batchai: n1: $work/here: the directory of the submission is not on this node: name another one with --batchai-output" ]
        [ ! -e here ]
        [ ! -e started ]
    done
}

@test "a node whose plugstack.conf lacks the line fails the job with one line, and the script never starts" {
    need_root
    on_node n2 mount --bind /dev/null "$MINISLURM_DIR/etc/plugstack.conf"
    submit_alice -N 2 -o out --batchai-mount="$data:a:ro" --wrap 'touch started'
    wait_job "$job"
    on_node n2 umount "$MINISLURM_DIR/etc/plugstack.conf"
    failed_with "batchai: n2: the plugin is not active here: the node's plugstack.conf lacks its line" out
    [ ! -e started ]
}

@test "scancel during the preparation ends it and leaves nothing" {
    submit_alice -N 2 -o out --batchai-prep='touch started.$(hostname); sleep 1000 & setsid sleep 1001 & sleep 1002' --wrap 'touch started'
    eventually test -e started.n1 -a -e started.n2
    scancel "$job"
    [ "$(wait_job "$job")" = CANCELLED ]
    assert_clean
    [ ! -e started ]
}

@test "a nodeCount that differs from the allocation fails the job before anything is mounted" {
    write_job job.json 1
    # -N would be refused before the job is submitted.
    submit_alice -n 2 --ntasks-per-node=1 -o out --batchai-job=job.json --wrap 'touch started'
    failed_with "batchai: n1: job.json asks for 1 node (properties.nodeCount) but the allocation has 2; submit with -N 1" out
    [ ! -e started ]
    grep -qF "$(cat out)" "$(stdouterr)/execution-n1.log"
    grep -qF "$(cat out)" "$(record)/events-n1.jsonl"
}

@test "a script that is not on the node fails the job with one line" {
    write_job job.json 2 'echo prepared' '$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/later.py'
    touch "$share/code/later.py"
    submit_alice -N 2 --begin=now+2 -o out --batchai-job=job.json --wrap 'touch started'
    rm "$share/code/later.py"
    failed_with "batchai: n?: *code/later.py: the job's script is not there: No such file or directory" out
    node=$(cut -d: -f2 out | tr -d ' ')
    [ ! -e started ]
    grep -qF "$(cat out)" "$(stdouterr)/execution-$node.log"
    grep -qF "$(cat out)" "$(record)/events-$node.jsonl"
}

@test "a share that is gone on the node fails the job with one line" {
    write_job job.json 1
    submit_alice -N 1 --begin=now+2 -o out --batchai-job=job.json --wrap 'touch started'
    mv "$share" "$share.away"
    failed_with "batchai: n1: mount source: $share: No such file or directory" out
    mv "$share.away" "$share"
    grep -qF "$(cat out)" "$(record)/events-n1.jsonl"
}

@test "a task of a failed node fails with the same line again" {
    run as_alice salloc -N 1 --batchai-prep='exit 7' sh -c 'srun true; srun true'
    [ "$(grep -c '^batchai: n1: job preparation failed with exit code 7' <<<"$output")" = 2 ]
}

@test "a failure fails the job if the plugin is optional too" {
    need_root
    sed -i s/required/optional/ "$MINISLURM_DIR/etc/plugstack.conf"
    run as_alice srun --batchai-prep='exit 7' sh -c 'echo ran'
    sed -i s/optional/required/ "$MINISLURM_DIR/etc/plugstack.conf"
    [ "$status" = 1 ]
    [[ $output == *"job preparation failed with exit code 7"* && $output != *ran* ]]
}

# secret_job NAME URL: a job file with a secret by reference, a preparation and ranks that tell its length.
secret_job() {
    write_job plain.json 2 'echo ${#TOKEN}'
    jq --arg name "$1" --arg url "$2" 'del(.properties.horovodSettings)
        | .properties.customMpiSettings = {commandLine: "echo ${#TOKEN}"}
        | .properties.secrets = [{name: $name, valueSecretReference: {
            sourceVault: {id: "/subscriptions/s/providers/Microsoft.KeyVault/vaults/site"}, secretUrl: $url}}]' plain.json >job.json
}

@test "a secret of the site's store is in the job of a user whom its entry names, and nowhere else" {
    need_root
    mkdir -p -m 700 "$MINISLURM_DIR/store"
    (umask 077 && echo correct-horse >"$MINISLURM_DIR/store/token" && echo correct-horse >"$MINISLURM_DIR/store/bobs")
    cp "$MINISLURM_DIR/batchai.toml" before.toml
    cat >>"$MINISLURM_DIR/batchai.toml" <<TOML
[paths]
credentials = "$MINISLURM_DIR/store"
[[secret]]
vault = "site"
url = "https://site/secrets/token*"
file = "store:token"
users = ["alice"]
[[secret]]
vault = "site"
url = "https://site/secrets/bobs"
file = "store:bobs"
users = ["bob"]
[[secret]]
vault = "site"
url = "https://site/secrets/own"
file = "user:own"
TOML
    secret_job TOKEN https://site/secrets/token/1
    write_script job.sh 'exec batchai-launch'
    submit_alice -N 2 -o out --batchai-job=job.json job.sh
    [ "$(wait_job "$job")" = COMPLETED ] || cat out
    [ "$(cat "$(stdouterr)"/stdout.txt "$(stdouterr)"/stdout-job_prep-n*.txt)" = $'13\n13\n13\n13' ]
    ! grep -rlF correct-horse "$share/out" "$(alice_home)/.local" out job.json || false
    rm -rf "$share/out" "$(alice_home)/.local"

    # One that is not for her, and one that no entry names, at the submission.
    for url in bobs other; do
        secret_job TOKEN "https://site/secrets/$url"
        run ! as_alice sbatch -N 2 -o out --batchai-job=job.json job.sh
        [[ $output = *"properties.secrets[0].valueSecretReference: secret 'https://site/secrets/$url' of key vault 'site' is "* ]]
    done
    # And on the node, of a forged snapshot.
    secret_job TOKEN https://site/secrets/token/1
    submit_alice -H -N 2 -o out --batchai-job=job.json job.sh
    sed -i 's|secrets/token/1|secrets/bobs|' "$(record)/job.json"
    scontrol release "$job"
    [ "$(wait_job "$job")" = FAILED ]
    grep -E "^batchai: n[12]: secret 'https://site/secrets/bobs' of key vault 'site' is not for user alice" out
    ! grep -rlF correct-horse "$share/out" "$(alice_home)/.local" out || false
    rm -rf "$share/out" "$(alice_home)/.local"

    # The user's own file: not there, readable by others, right.
    secret_job TOKEN https://site/secrets/own
    for mode in none 644 600; do
        if [ $mode != none ]; then
            as_alice mkdir -p "$(alice_home)/.config/batchai/credentials"
            echo correct-horse | as_alice tee "$(alice_home)/.config/batchai/credentials/own" >/dev/null
            chmod $mode "$(alice_home)/.config/batchai/credentials/own"
        fi
        submit_alice -N 2 -o out --batchai-job=job.json job.sh
        state=$(wait_job "$job")
        case $mode in
            none) grep "credentials .*/own: No such file" out ;;
            644) grep "credentials user:own: must be a file of user .* that only this user can read" out ;;
            600) [ "$state" = COMPLETED ] ;;
        esac
        rm -rf "$share/out" "$(alice_home)/.local"
    done
    rm -r "$(alice_home)/.config"
    cat before.toml >"$MINISLURM_DIR/batchai.toml"
}

@test "two secrets of the user's own files reach the ranks, and an empty one fails the job with one line" {
    need_root
    cp "$MINISLURM_DIR/batchai.toml" before.toml
    printf '[[secret]]\nvault = "site"\nurl = "%s"\nfile = "user:%s"\n' one one two two >>"$MINISLURM_DIR/batchai.toml"
    own=$(alice_home)/.config/batchai/credentials
    as_alice mkdir -p "$own"
    echo first | as_alice tee "$own/one" >/dev/null
    printf 'the second\nline\n\n' | as_alice tee "$own/two" >/dev/null
    chmod 600 "$own/one" "$own/two"
    secret_job ONE one
    jq '.properties.customMpiSettings.commandLine = "echo \"$ONE|$TWO\" | paste -sd /"
        | .properties.secrets += [.properties.secrets[0] | .name = "TWO" | .valueSecretReference.secretUrl = "two"]' job.json >both.json
    write_script job.sh 'exec batchai-launch'
    submit_alice -N 2 -o out --batchai-job=both.json job.sh
    state=$(wait_job "$job")
    printed=$(cat "$(stdouterr)/stdout.txt")
    : >"$own/two"
    submit_alice -N 2 -o empty.out --batchai-job=both.json job.sh
    second=$(wait_job "$job")
    rm -r "$(alice_home)/.config"
    cat before.toml >"$MINISLURM_DIR/batchai.toml"
    [ "$state" = COMPLETED ]
    [ "$printed" = $'first|the second/line\nfirst|the second/line' ]
    [ "$second" = FAILED ]
    grep -E '^batchai: n[12]: credentials user:two: empty, or contains a null byte$' empty.out
}
