#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job file on a cluster whose Slurm has no batchai plugin: batchai-launch makes its directories and prepares its nodes.
# minislurm: -n 2

load plugin

setup() { export BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml && enter_work; }

records() { echo "$(alice_home)/.local/share/batchai/jobs"; }
running() { find "$(records)" -mindepth 2 -maxdepth 2 -name 'running.*'; }
no_directory_is_left() { [ -d "$(records)" ] && [ -z "$(running)" ]; }

# job FILE PREPARATION COMMAND: on two nodes, with one process on each.
job() {
    jq -n --arg preparation "$2" --arg command "$3" '{properties: {
        nodeCount: 2,
        customMpiSettings: {commandLine: $command, processCount: 2},
        jobPreparation: {commandLine: $preparation},
        stdOutErrPathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        mountVolumes: {azureFileShares: [{azureFileUrl: "https://a.file.core.windows.net/myshare", relativeMountPath: "myshare"}]}
    }}' >"$1"
}

@test "all nodes are prepared, ranks find shares, directories and hosts, and nothing is left" {
    # shellcheck disable=SC2016 # the job expands it
    job job.json 'echo prepared >$AZ_BATCHAI_JOB_TEMP/note' \
        'cat $AZ_BATCHAI_JOB_TEMP/note; pwd; echo $AZ_BATCH_HOST_LIST; cat $AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/train.py; touch $AZ_BATCHAI_SHARED_JOB_TEMP/kept'
    submit_alice -N 2 -o slurm.out --wrap "batchai-launch --without-plugin --job job.json"
    wait_job "$job" COMPLETED
    cat slurm.out
    local out
    out=$(cat "$(stdouterr)/stdout.txt")
    echo "$out"
    [ "$(grep -cx prepared <<<"$out")" = 2 ]
    [ "$(grep -x "$(records)/[0-9a-f]*/running\.......\/temp-[01]/wd" <<<"$out" | sort -u | wc -l)" = 2 ]
    [ "$(grep -cx n1,n2 <<<"$out")" = 2 ]
    [ "$(grep -cFx "print('hello')" <<<"$out")" = 2 ]
    [ -e "$(record)/shared/kept" ]
    [ "$(jq .exitCode "$(record)/result.json")" = 0 ]
    no_directory_is_left
}

@test "a job that Slurm runs again goes on in the same record and output directory" {
    # shellcheck disable=SC2016 # the job expands it
    job job.json true 'echo run $SLURM_RESTART_COUNT'
    # As a requeue would: the same job number, one more run.
    local launch="batchai-launch --without-plugin --job job.json"
    submit_alice -N 2 -o slurm.out --wrap "$launch && SLURM_RESTART_COUNT=1 $launch"
    wait_job "$job" COMPLETED
    cat slurm.out "$(stdouterr)/stdout.txt"
    [ "$(grep -c '^run *$' "$(stdouterr)/stdout.txt")" = 2 ]
    [ "$(grep -c '^run 1$' "$(stdouterr)/stdout.txt")" = 2 ]
    no_directory_is_left
}

@test "batchai job create submits it without the plugin's option, and shows how it ended" {
    job job.json 'exit 3' true
    run as_alice batchai job create -n first -f job.json
    echo "$output"
    [ "$status" = 3 ]
    [[ $output == *"it does not know --batchai-job: add the line of spank_batchai.so to plugstack.conf, or run the job without mounts: --without-plugin" ]]
    run as_alice batchai job create -n first -f job.json --without-plugin --wait
    echo "$output"
    [ "$status" != 0 ]
    run as_alice batchai job show -n first
    echo "$output"
    [ "$(jq -r .executionState <<<"$output")" = failed ]
    [[ $(jq -r '.executionInfo.errors[0].message' <<<"$output") == *"job preparation"* ]]
    # shellcheck disable=SC2016 # the job expands it
    job good.json true 'echo rank; [ $TORCHELASTIC_RESTART_COUNT = 1 ]'
    as_alice batchai job create -n second -f good.json --without-plugin --restarts 1 --wait
    [ "$(as_alice batchai job show -n second --query launch.restarts)" = 1 ]
    [ "$(as_alice batchai job show -n second --query executionState)" = '"succeeded"' ]
    [[ $(as_alice batchai job file list -j second -o table) == *stdout.txt* ]]
    no_directory_is_left
}

@test "a volume that needs a mount is refused, at submission and in the job" {
    printf '[[share]]\nshare = "far"\ntype = "nfs"\nsource = "server:/far"\n' | cat "$BATCHAI_POLICY" - >policy.toml
    job job.json true true
    sed -i 's,net/myshare,net/far,' job.json
    export BATCHAI_POLICY=$PWD/policy.toml
    run -2 as_alice batchai job create -n far -f job.json --without-plugin
    [[ ${lines[-1]} == "batchai: "*"far"*": without the plugin only volumes of type bind work" ]]
    submit_alice -N 2 -o slurm.out --wrap "batchai-launch --without-plugin --job job.json"
    wait_job "$job" FAILED
    cat slurm.out
    [[ $(<slurm.out) == *"far"*": without the plugin only volumes of type bind work" ]]
    no_directory_is_left
}

@test "a volume that one of the nodes does not have is refused there, before the preparation" {
    printf '[[share]]\nshare = "near"\ntype = "bind"\nsource = "/tmp/near"\n' | cat "$BATCHAI_POLICY" - >policy.toml
    export BATCHAI_POLICY=$PWD/policy.toml
    on_node n1 mkdir /tmp/near # each node has its own /tmp
    job job.json "touch $PWD/prepared.\$(hostname)" "touch $PWD/started"
    jq '.properties.mountVolumes.azureFileShares += [{azureFileUrl: "https://a.file.core.windows.net/near", relativeMountPath: "near"}]' job.json >near.json
    submit_alice -N 2 -o slurm.out --wrap "batchai-launch --without-plugin --job near.json"
    wait_job "$job" FAILED
    cat slurm.out
    local line="batchai: n2: /tmp/near: the job's volume is not there: No such file or directory: without the plugin, all nodes must have it"
    grep -Fx "$line" slurm.out
    grep -F "$line" "$(stdouterr)"/execution-n2.log
    [ ! -e prepared.n2 ] && [ ! -e started ]
    no_directory_is_left
    on_node n2 mkdir /tmp/near
    submit_alice -N 2 -o slurm.out --wrap "batchai-launch --without-plugin --job near.json"
    wait_job "$job" COMPLETED
    on_node n1 rmdir /tmp/near
    on_node n2 rmdir /tmp/near
}

@test "an image in a container on two nodes is refused, at submission and in the job" {
    printf '[container.box]\ncommand = ["/usr/bin/env"]\n[[image]]\nname = "boxed"\nrun_on = "box"\nimage = "/boxed"\n' | cat "$BATCHAI_POLICY" - >policy.toml
    job job.json true true
    jq '.properties.containerSettings.imageSourceRegistry.image = "boxed"' job.json >boxed.json
    export BATCHAI_POLICY=$PWD/policy.toml
    local refusal="--without-plugin: an image in a container works on one node only, because each node has a directory of its own: set nodeCount to 1, or use a cluster with the plugin"
    run as_alice batchai job create -n boxed -f boxed.json --without-plugin
    echo "$output"
    [ "$status" = 2 ]
    [ "${lines[-1]}" = "batchai: $refusal" ]
    submit_alice -N 2 -o slurm.out --wrap "batchai-launch --without-plugin --job boxed.json"
    wait_job "$job" FAILED
    cat slurm.out
    grep -Fx "batchai-launch: $refusal" slurm.out
    [ ! -e "$(records)" ]
}

@test "the option is refused without a job file, and where the job has asked for the plugin" {
    run ! batchai-launch --without-plugin true
    [[ ${lines[0]} == "batchai-launch: --without-plugin is for job files: give --job FILE, or leave it out"* ]]
    job job.json true true
    submit_alice -N 2 -o slurm.out --wrap "SLURM_SPANK_BATCHAI_JOB=job.json batchai-launch --without-plugin --job job.json"
    wait_job "$job" FAILED
    cat slurm.out
    grep -x "batchai-launch: --without-plugin: the plugin makes this job's mounts: leave the option out" slurm.out
}

is_running_somewhere() { [ -n "$(running)" ] && [ -e started ]; }

@test "the directories go when the launcher is killed" {
    job job.json true "touch $PWD/started; sleep 60"
    submit_alice -N 2 -o slurm.out --wrap "batchai-launch --without-plugin --job job.json"
    eventually is_running_somewhere
    scancel --signal=KILL --batch "$job"
    deadline=30 eventually no_directory_is_left
}
