#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# preparation_cache of the site policy: an equal preparation runs once on a node.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml

load plugin

setup_file() { make_site 'preparation_cache = 7'; }

setup() {
    enter_work
    cache=$(alice_home)/.cache/batchai/preparation
    rm -rf "$cache"
}

# prepare COMMAND [SBATCH_OPTION]...: a job on n1 with that preparation succeeds.
prepare() {
    submit_alice -N 1 -w n1 -o out --batchai-output=logs --batchai-prep="$1" "${@:2}" --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
}

# How often a preparation 'echo x >>prepared' has run.
times() { wc -l <prepared; }

@test "the same preparation is skipped on its nodes, and the logs and the record say so in one line" {
    write_job job.json 2 "echo x >>$work/prepared.\$(hostname)"
    for run in 1 2; do
        submit_alice -N 2 -o out --batchai-job=job.json --wrap true
        [ "$(wait_job "$job")" = COMPLETED ]
        [ ! -s out ]
    done
    records=$(alice_home)/.local/share/batchai/jobs
    for node in n1 n2; do
        [ "$(cat "prepared.$node")" = x ]
        line=$(grep -rh skipped "$share/out" --include="stdout-job_prep-$node.txt")
        [[ $line == "job preparation on $node: skipped: the same one succeeded at 20"*"; remove $cache/$node to run it again" ]]
        [ "$(grep -rhF " $line" "$share/out" --include="execution-$node.log" | wc -l)" = 1 ]
        [ "$(cat "$records"/*/"events-$node.jsonl" | jq -r 'select(.kind == "prepared").message' | grep -cxF "$line")" = 1 ]
    done
}

@test "removing the file that the log names makes the preparation run again" {
    prepare 'echo x >>prepared'
    prepare 'echo x >>prepared'
    [ "$(times)" = 1 ]
    rm "$(sed -n 's/.*; remove \(.*\) to run it again$/\1/p' logs/stdout-job_prep-n1.txt)"
    prepare 'echo x >>prepared'
    [ "$(times)" = 2 ]
}

@test "a change of command, file, variable, directory or mount makes the preparation run again" {
    mkdir -m 777 elsewhere
    write_script prep.sh "echo x >>$work/prepared"
    command="bash $work/prep.sh"
    prepare "$command"
    prepare "$command"
    [ "$(times)" = 1 ]
    prepare "$command; true"
    [ "$(times)" = 2 ]
    prepare "$command"
    [ "$(times)" = 3 ]
    echo true >>prep.sh
    prepare "$command"
    [ "$(times)" = 4 ]
    COLOUR=blue prepare "$command"
    [ "$(times)" = 5 ]
    prepare "$command" -D "$work/elsewhere"
    [ "$(times)" = 6 ]
    prepare "$command" --batchai-mount="$data:a"
    prepare "$command" --batchai-mount="$data:a"
    [ "$(times)" = 7 ]
}

@test "another node and another user are prepared for themselves" {
    need_root
    prepare 'echo x >>prepared'
    submit_alice -N 1 -w n2 -o out --batchai-output=logs --batchai-prep='echo x >>prepared' --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(times)" = 2 ]
    chmod 666 prepared
    rm -rf logs out
    submit_as bob -N 1 -w n1 -o out --batchai-output=logs --batchai-prep='echo x >>prepared' --wrap true
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(times)" = 3 ]
    rm -rf "$MINISLURM_DIR/home/bob/.cache"
}

@test "a preparation that has failed runs again" {
    submit_alice -N 1 -w n1 -o out --batchai-output=logs --batchai-prep='echo x >>prepared; ls | grep -qx go' --wrap true
    [ "$(wait_job "$job")" = FAILED ]
    touch go
    prepare 'echo x >>prepared; ls | grep -qx go'
    [ "$(times)" = 2 ]
    prepare 'echo x >>prepared; ls | grep -qx go'
    [ "$(times)" = 2 ]
}

@test "a success counts for the days of the policy, and not at all without it" {
    prepare 'echo x >>prepared'
    awk '{ print $1, $2, $3, $4 - 8 * 86400 }' "$cache/n1" >old
    cat old >"$cache/n1"
    prepare 'echo x >>prepared'
    [ "$(times)" = 2 ]
    make_site
    prepare 'echo x >>prepared'
    make_site 'preparation_cache = 7'
    [ "$(times)" = 3 ]
}

@test "a preparation that writes to the job's own directories runs in each job" {
    write_script prep.sh "echo x >>$work/prepared; touch \$AZ_BATCHAI_JOB_TEMP/data"
    for command in 'echo x >>prepared; touch $AZ_BATCHAI_JOB_TEMP/data' "bash $work/prep.sh"; do
        rm -f prepared
        prepare "$command"
        prepare "$command"
        [ "$(times)" = 2 ]
    done
    for mount in tmpfs:scratch "overlay=$data:scratch"; do
        rm -f prepared
        prepare 'echo x >>prepared' --batchai-mount="$mount"
        prepare 'echo x >>prepared' --batchai-mount="$mount"
        [ "$(times)" = 2 ]
    done
}

@test "a preparation runs again if the script that it made is gone" {
    write_job job.json 1 "echo x >>$work/prepared; touch \$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/made.py" \
        '$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/made.py'
    chmod 777 "$share/code"
    for run in 1 2; do
        touch "$share/code/made.py" # looked for at the submission too
        submit_alice -H -N 1 -w n1 -o out --batchai-job=job.json --wrap true
        rm -f "$share/code/made.py"
        scontrol release "$job"
        [ "$(wait_job "$job")" = COMPLETED ]
        [ "$(times)" = "$run" ]
    done
}

@test "several jobs at once on a node do not disturb each other" {
    for i in 1 2 3 4; do
        submit_alice -N 1 -w n1 -o "out.$i" --batchai-output="logs.$i" --batchai-prep='echo x >>prepared; sleep 0.2' --wrap true
        echo "$job" >>jobs
    done
    while read -r job; do [ "$(wait_job "$job")" = COMPLETED ]; done <jobs
    [ "$(cat out.?)" = "" ]
    before=$(times)
    prepare 'echo x >>prepared; sleep 0.2'
    [ "$(times)" = "$before" ]
}

@test "only the user can read the preparation's record, and it holds no secret" {
    write_job job.json 1 "echo x >>$work/prepared"
    jq '.properties.secrets = [{"name": "TOKEN", "value": "verysecret"}]' job.json >secret.json
    for run in 1 2; do
        submit_alice -N 1 -w n1 -o out --batchai-job=secret.json --wrap true
        [ "$(wait_job "$job")" = COMPLETED ]
    done
    [ "$(times)" = 1 ]
    [ "$(stat -c %a "$cache")" = 700 ]
    [ "$(stat -c %a:%U "$cache"/*)" = "600:$(as_alice id -un)" ]
    [[ $(cat "$cache/n1") =~ ^succeeded\ [0-9a-f]{64}\ [0-9a-f]{64}\ [0-9]+$ ]]
    run grep -rE 'verysecret|TOKEN|prepared' "$(alice_home)/.cache"
    [ "$output" = "" ]
}
