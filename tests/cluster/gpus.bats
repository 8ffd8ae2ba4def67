#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ranks and preparation get the job's GPUs, with each option that asks for GPUs.
# minislurm: -n 2 -g 4
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2016,SC2154 # expanded by the rank; job and work are set by plugin.bash

load plugin

setup() { enter_work; }

# launch "SBATCH_OPTIONS" [LAUNCHER_OPTION]...: each rank's line, sorted: its number, its node, the node's GPUs.
launch() {
    local options=$1 # words
    shift
    write_script script "exec batchai-launch $* sh -c 'echo \"\$RANK \$(hostname) \$SLURM_GPUS_ON_NODE:\$CUDA_VISIBLE_DEVICES\"'"
    # shellcheck disable=SC2086
    submit_alice $options --output=out script
    [ "$(wait_job "$job")" = COMPLETED ] || cat out
    ranks=$(grep -v '^batchai-launch: ' out | sort)
    said=$(grep '^batchai-launch: ' out || true)
}

# How many GPUs Slurm has granted the last job.
gpus_of_job() { [[ $(scontrol show job -d -o "$job") =~ JOB_GRES=gpu:([0-9]+) ]] && echo "${BASH_REMATCH[1]}"; }

@test "no GPU that was asked for per task is lost" {
    launch "-N1 -n2 --gpus-per-task=1"
    [ "$ranks" = $'0 n1 2:0,1\n1 n1 2:0,1' ]
    [ "$said" = "batchai-launch: one rank per GPU: 2 ranks on 1 node" ]
}

@test "no GPU that was asked for in all, per task, per socket or per node is without a rank" {
    for options in --gpus=4 --gpus=5 "-n4 --gpus-per-task=1" "--gpus-per-socket=2 --sockets-per-node=1" \
        "--exclusive --gpus=2" --gpus-per-node=3 --gres=gpu:3 "--gpus=4 --cpus-per-gpu=2 --mem-per-gpu=100"; do
        launch "-N2 $options"
        gpus=$(gpus_of_job)
        echo "$options: $gpus GPUs: $ranks"
        [ "$(wc -l <<<"$ranks")" = "$gpus" ]
        for node in n1 n2; do # as many ranks as GPUs on each
            seen=$(grep " $node " <<<"$ranks" | cut -d' ' -f3 | sort -u)
            [ "$(grep -c " $node " <<<"$ranks")" = "${seen%:*}" ]
            [ "$(tr ',' '\n' <<<"${seen#*:}" | wc -l)" = "${seen%:*}" ]
        done
    done
}

@test "no two of as many ranks as GPUs share one, however Slurm has placed the tasks" {
    launch "-N2 -n4 --gpus=4" -n 4 --gpu-visibility rank
    [ "$(cut -d' ' -f2,3 <<<"$ranks" | sort -u | wc -l)" = 4 ]
    launch "-N2 --ntasks=8 --ntasks-per-node=4 --gpus=4" -n 4 --gpu-visibility rank
    [ "$(cut -d' ' -f2,3 <<<"$ranks" | sort -u | wc -l)" = 4 ]
}

@test "a job without GPUs that was submitted inside one with GPUs is not refused its agents" {
    write_script inner 'batchai-launch -n 1 sh -c "echo rank \$RANK: \${SLURM_GPUS_ON_NODE-none}"'
    write_script outer 'sbatch --wait -N1 -n1 --output=inner.out inner'
    submit_alice -N1 --gpus=2 --output=out outer
    [ "$(wait_job "$job")" = COMPLETED ] # it would be 1 if the inner job had failed
    [ "$(cat inner.out)" = "rank 0: none" ]
}

@test "several tasks per GPU become as many ranks, and several GPUs per task are not passed over in silence" {
    launch "-N2 --gpus=4 --ntasks-per-gpu=2"
    [ "$(wc -l <<<"$ranks")" = 8 ]
    [ "$said" = "batchai-launch: 2 ranks per GPU: 8 ranks on 2 nodes" ]
    launch "-N1 -n2 --gpus-per-task=2"
    [ "$(wc -l <<<"$ranks")" = 4 ]
    [[ $said == *"batchai-launch: the job's --gpus-per-task=2 is ignored, each rank gets one GPU: "*"with -n"* ]]
    launch "-N1 -n2 --gpus-per-task=2" -n 2 --gpu-visibility rank
    [ "$ranks" = $'0 n1 4:0,2\n1 n1 4:1,3' ]
    [ -z "$said" ]
}

@test "the job's --distribution is not dropped in silence" {
    launch "-N2 --gpus-per-node=2 -m cyclic"
    [ "$(cut -d' ' -f1,2 <<<"$ranks")" = $'0 n1\n1 n2\n2 n1\n3 n2' ]
    [[ $said != *ignored* ]]
    launch "-N2 --gpus-per-node=2 -m cyclic" --map block
    [ "$(cut -d' ' -f1,2 <<<"$ranks")" = $'0 n1\n1 n1\n2 n2\n3 n2' ]
    launch "-N2 -n4 --gpus-per-node=2 -m plane=2"
    [[ $said == *'batchai-launch: "plane" of the job'*"--distribution is ignored"* ]]
    launch "-N2 --gpus-per-node=2 -m cyclic:block"
    [ "$(cut -d' ' -f1,2 <<<"$ranks")" = $'0 n1\n1 n2\n2 n1\n3 n2' ]
    [[ $said == *'batchai-launch: ":block" of the job'*"--distribution is ignored"* ]]
}

@test "the preparation of a node does not miss GPUs that were asked for in all or per task" {
    for options in --gpus=4 "-n4 --gpus-per-task=1"; do
        rm -rf logs
        launch "-N2 $options --batchai-output=logs --batchai-prep=env" --ranks-per-node 1
        for node in n1 n2; do
            seen=$(sed -n 's/^CUDA_VISIBLE_DEVICES=//p' "logs/stdout-job_prep-$node.txt")
            [[ $(grep " $node " <<<"$ranks") == *" $node "?":$seen" ]]
        done
    done
}

@test "an allocation of salloc does not lose them either" {
    run -0 salloc --quiet -N2 --gpus=4 batchai-launch sh -c 'echo "$(hostname) $SLURM_GPUS_ON_NODE"'
    [[ $output = *"batchai-launch: one rank per GPU: 4 ranks on 2 nodes"* ]]
}

@test "the number of GPUs that the service's variable says is the same on nodes that have not as many" {
    write_job job.json 2
    jq 'del(.properties.horovodSettings) | .properties.customMpiSettings = {
        commandLine: "echo $AZ_BATCHAI_NUM_GPUS $AZ_BATCHAI_NUM_GPUS_PER_NODE $SLURM_GPUS_ON_NODE"}' job.json >mpi.json
    submit_alice -N2 --gpus=5 -o out --batchai-job=mpi.json --wrap batchai-launch
    [ "$(wait_job "$job")" = COMPLETED ]
    read -r a b < <(cut -d' ' -f3 "$(stdouterr)/stdout.txt" | sort -n | paste -sd' ')
    [ "$a" != "$b" ] || skip "Slurm has given both nodes as many"
    [ "$(cut -d' ' -f1,2 "$(stdouterr)/stdout.txt" | sort -u)" = "$a $a" ]
}

# single COMMAND PREPARATION [SBATCH_OPTION]...: a job file of two nodes with such a single command; its output is in $output.
single() {
    rm -rf "$share/out"
    jq -n --arg command "$1" --arg preparation "$2" '{properties: {nodeCount: 2, customToolkitSettings: {commandLine: $command},
        jobPreparation: {commandLine: $preparation}, stdOutErrPathPrefix: "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/out",
        mountVolumes: {azureFileShares: [{
            azureFileUrl: "https://account.file.core.windows.net/myshare", relativeMountPath: "myshare"}]}}}' >job.json
    submit_alice -N2 -o out --batchai-job=job.json "${@:3}" --wrap batchai-launch
    state=$(wait_job "$job")
    output=$(cat "$(stdouterr)"/std{out,err}.txt)
    echo "$output"
    cat out
    [ "$state" = COMPLETED ]
}
show='cat $AZ_BATCHAI_MPI_HOST_FILE'
count='sort | uniq -c | sed s/^\ *//'

@test "mpirun with the service's host file leaves no GPU of any node without a rank" {
    command -v mpirun.openmpi || skip "Open MPI is not installed"
    single "mpirun.openmpi --hostfile \$AZ_BATCHAI_MPI_HOST_FILE hostname | $count; mpirun.openmpi -np 8 --hostfile \$AZ_BATCHAI_MPI_HOST_FILE hostname | $count" \
        "$show" --gpus-per-node=4
    [ "$output" = $'4 n1\n4 n2\n4 n1\n4 n2' ]
}

@test "the host file counts the GPUs of each node, in the preparation too, and keeps what that writes into it" {
    single "$show" "$show; echo '# mine' >>\$AZ_BATCHAI_MPI_HOST_FILE" --gpus-per-node=4
    [ "$output" = $'n1 slots=4\nn2 slots=4\n# mine' ]
    for node in n1 n2; do [ "$(cat "$(stdouterr)/stdout-job_prep-$node.txt")" = $'n1 slots=4\nn2 slots=4' ]; done
    single "$show" true --gpus=5 # one node has more than the other
    [ "$(gpus_of_job)" = 5 ]
    [ "$(sed 's/.*=//' <<<"$output" | paste -sd+ | bc)" = 5 ]
}

@test "without GPUs the host file counts the tasks that the job asked for, else one a node" {
    single "$show" "$show" --ntasks-per-node=3
    [ "$output" = $'n1 slots=3\nn2 slots=3' ]
    for node in n1 n2; do [ "$(cat "$(stdouterr)/stdout-job_prep-$node.txt")" = "$output" ]; done
    single "$show" true -n 3
    [ "$output" = $'n1 slots=2\nn2 slots=1' ]
    single "$show" true
    [ "$output" = $'n1 slots=1\nn2 slots=1' ]
}

@test "without the plugin the host file is the same, and the preparation finds it" {
    single "$show" true --gpus-per-node=2 # the job file
    write_script script 'exec batchai-launch --without-plugin --job job.json'
    rm -rf "$share/out"
    jq --arg preparation "$show" '.properties.jobPreparation.commandLine = $preparation' job.json >other.json
    mv other.json job.json
    submit_alice -N2 -o out --gpus-per-node=2 --export="ALL,BATCHAI_POLICY=$MINISLURM_DIR/batchai.toml" script
    [ "$(wait_job "$job")" = COMPLETED ] || cat out
    [ "$(cat "$(stdouterr)/stdout.txt")" = $'n1 slots=2\nn2 slots=2' ]
    for node in n1 n2; do [ "$(cat "$(stdouterr)/stdout-job_prep-$node.txt")" = $'n1 slots=2\nn2 slots=2' ]; done
}

@test "each toolkit's processes see the number of the node's GPUs, and take one each" {
    for settings in '"customMpiSettings": {"commandLine": "$show"}' '"horovodSettings": {"pythonScriptFilePath": "$show"}' \
        '"pyTorchSettings": {"pythonScriptFilePath": "$show", "communicationBackend": "gloo"}' \
        '"chainerSettings": {"pythonScriptFilePath": "$show"}'; do
        printf '#!/usr/bin/python3\nimport os\nprint(*[os.environ[name] for name in ("AZ_BATCHAI_NUM_GPUS", "AZ_BATCHAI_NUM_GPUS_PER_NODE", "CUDA_VISIBLE_DEVICES", "LOCAL_RANK")])\n' >"$share/code/gpus.py"
        chmod 755 "$share/code/gpus.py"
        single true true --gpus-per-node=4
        rm -rf "$share/out"
        jq ".properties |= (del(.customToolkitSettings) + {${settings//\$show/\$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code/gpus.py}})" job.json >other.json
        submit_alice -N2 -o out --gpus-per-node=4 --batchai-job=other.json --wrap batchai-launch
        [ "$(wait_job "$job")" = COMPLETED ] || cat out
        output=$(cat "$(stdouterr)"/stdout*.txt | grep -v PREP)
        echo "$settings: $output"
        [ "$(cut -d' ' -f1-3 <<<"$output" | sort -u)" = "4 4 0,1,2,3" ]
    done
}
