#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# contrib/az: the walk-through verbatim, and each form of command in az_forms.txt, as scripts for the service have them.
# minislurm: -n 4 -g 1
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # share and work are set by plugin.bash

load cli

setup_file() {
    make_site
    mkdir -p "$MINISLURM_DIR/container" "$MINISLURM_DIR/nfs"
    chmod 777 "$MINISLURM_DIR/container" "$MINISLURM_DIR/nfs"
    cat >>"$BATCHAI_POLICY" <<TOML
[[image]]
name = "*"
run_on = "host"
[[preparation]]
command = "apt update;*"
replace = "echo prepared"
[[blob_container]]
container = "mycontainer"
source = "$MINISLURM_DIR/container"
login_path = "$MINISLURM_DIR/container"
[[file_server]]
name = "nfsname"
source = "$MINISLURM_DIR/nfs"
login_path = "$MINISLURM_DIR/nfs"
TOML
    cat >>"$BATCHAI_POLICY" <<'TOML'
[cluster.nc6cluster]
gres = "gpu:1"
TOML
}

az() { as_alice env PATH="$BATCHAI_SOURCE/contrib/az:$PATH" az "$@"; }

# The commands of the walk-through, as its page has them.
walk_through() {
    cat <<'END'
az group create --name batchai.horovod --location eastus
az batchai workspace create --resource-group batchai.horovod --workspace batchaidev
az batchai experiment create --resource-group batchai.horovod --workspace batchaidev --name cifar
az batchai cluster create --resource-group batchai.horovod --workspace batchaidev --name nc6cluster --vm-priority dedicated  --vm-size Standard_NC6 --target 4 --generate-ssh-keys
az batchai cluster show --name nc6cluster --workspace batchaidev --resource-group batchai.horovod --output table
az storage account create --resource-group batchai.horovod --name mystorageaccount --location eastus --sku Standard_LRS
az storage share create --name myshare --account-name mystorageaccount
az storage directory create --name cifar --share-name myshare --account-name mystorageaccount
az storage file upload --path cifar --share-name myshare --source cifar_cnn_distributed.py --account-name mystorageaccount
az batchai job create --cluster nc6cluster --name cifar_distributed --resource-group batchai.horovod --workspace batchaidev --experiment cifar --config-file job.json --storage-account-name mystorageaccount
az batchai job show --experiment cifar --name cifar_distributed --resource-group batchai.horovod --workspace batchaidev --query "executionState"
az batchai cluster show --name nc6cluster --workspace batchaidev --resource-group batchai.horovod --query "nodeStateCounts"
az batchai job file list --experiment cifar --job cifar_distributed --resource-group batchai.horovod --workspace batchaidev --output table
az batchai job file stream --experiment cifar --file-name stdout.txt --job cifar_distributed --resource-group batchai.horovod --workspace batchaidev
az storage file download --path cifar/saved_models/keras_cifar10_trained_model.h5 --share-name myshare --account-name mystorageaccount
az batchai cluster resize --name nc6cluster --resource-group batchai.horovod --target 0 --workspace batchaidev
az group delete --name batchai.horovod
END
}

@test "the walk-through's 17 commands run as they are pasted" {
    write_walk_through
    [ "$(walk_through | wc -l)" = 17 ]
    while read -r line; do
        # The user answers the last question.
        [[ $line != *delete* ]] || line="script -qec '$line' /dev/null <<<y"
        as_alice env PATH="$BATCHAI_SOURCE/contrib/az:$PATH" bash -c "$line" </dev/null
    done < <(walk_through)
    [ "$(cat keras_cifar10_trained_model.h5)" = weights ]
    [ "$(az group list)" = "[]" ]
    rm -r "$share/cifar"
}

job_file() { # FILE COMMAND
    # shellcheck disable=SC2016 # the service's variables
    jq -n --arg command "$2" '{properties: {
        nodeCount: 1,
        customToolkitSettings: {commandLine: $command},
        stdOutErrPathPrefix: "$AZ_BATCHAI_MOUNT_ROOT/external/logs",
        outputDirectories: [{id: "MODEL", pathPrefix: "$AZ_BATCHAI_MOUNT_ROOT/external/logs"}]}}' >"$1"
}

@test "every form of command in az_forms.txt runs" {
    job_file job.json 'ls -d "$AZ_BATCHAI_MOUNT_ROOT"/*; echo w >"$AZ_BATCHAI_OUTPUT_MODEL/weights"'
    job_file hold.json 'sleep 100'
    jq '.properties.cluster = {id: "/subscriptions/s/resourceGroups/batchai.recipes/providers/Microsoft.BatchAI/clusters/old"}' \
        job.json >with_cluster.json
    echo 'print()' >train.py
    mkdir -p folder/sub
    echo 1 >folder/one
    echo 2 >folder/sub/two
    echo '{"properties": {"vmSize": "Standard_D2_V2", "dataDisks": {"diskCount": 1, "diskSizeInGB": 10}}}' >nfs.json
    cat >cluster.json <<'JSON'
{"properties": {"vmSize": "STANDARD_NC6", "scaleSettings": {"manual": {"targetNodeCount": 2}},
  "nodeSetup": {"mountVolumes": {"azureFileShares": [{"accountName": "mystorage",
    "azureFileUrl": "https://mystorage.file.core.windows.net/myshare", "relativeMountPath": "external",
    "credentials": {"accountKey": "c2VjcmV0"}}]}}}}
JSON
    chmod -R a+rX .
    run=0 failed=0
    while read -r -a words; do
        [[ ${#words[@]} -gt 0 && ${words[0]} != '#' ]] || continue
        expected=0
        if [[ ${words[0]} = '!'* ]]; then
            expected=${words[0]#!}
            words=("${words[@]:1}")
        fi
        for i in "${!words[@]}"; do [ "${words[i]}" != @HOLD@ ] || { words[i]=hold && eventually hold_runs; }; done
        # -L starts an ssh that no server answers here.
        [[ " ${words[*]} " != *' -L '* ]] || { printf '#!/bin/sh\necho "ssh $*"\n' >ssh && chmod 755 ssh; }
        # The list creates the same clusters and file servers in several forms.
        [[ ${words[*]} != 'batchai '@(cluster|file-server)' create '* ]] || unname "${words[@]}"
        code=0
        PATH=$work:$PATH az "${words[@]}" >out 2>err </dev/null || code=$?
        rm -f ssh
        run=$((run + 1))
        [ "$code" = "$expected" ] && continue
        failed=$((failed + 1))
        echo "exit code $code: az ${words[*]}" && cat err out
    done < <(sed 's/^#.*//' "$BATCHAI_SOURCE/tests/cluster/az_forms.txt")
    echo "$((run - failed)) of $run forms of command run"
    [ "$run" -gt 150 ]
    [ "$failed" = 0 ]
    ! grep -rq c2VjcmV0 "$(alice_home)/.local/share/batchai/history.db" || return 1
}

# unname batchai NOUN create -n NAME -g GROUP [-w WORKSPACE]...: removes the record, if there is one.
unname() {
    local noun=$2
    shift 3
    local scope=()
    while [ $# -gt 1 ]; do
        case $1 in -n | -g | -w) scope+=("$1" "$2") ;; esac
        shift
    done
    az batchai "$noun" delete "${scope[@]}" -y 2>/dev/null || true
}

hold_runs() { [ "$(az batchai job show -n hold -g batchai.recipes -w recipe_workspace -e exp --query executionState -o tsv)" = running ]; }

@test "node exec without a terminal prints the command's output only" {
    batchai cluster create -n exec
    code=0
    batchai cluster node exec -c exec --exec 'echo "$0 $-"; echo "a  b" >&2; exit 3' >said 2>noted </dev/null || code=$?
    [ "$code" = 3 ]
    [[ $(cat said) == *i* ]] # it reads the user's profile
    [ "$(grep -v '^srun: ' noted)" = "a  b" ]
    echo 'hostname; echo err >&2' | batchai cluster node exec -c exec -n n2 >said 2>noted
    [ "$(cat said)" = n2 ]
    [ "$(grep -v '^srun: ' noted)" = err ]
}

@test "defaults of az configure and of variables count for options that are left out" {
    az configure --defaults group=mygroup workspace=mywork location=eastus other=x 2>said
    [[ $(cat said) == "batchai: --defaults other: has no effect here: "* ]]
    az batchai experiment create -n exp
    [ "$(az batchai experiment list --query '[].id' -o tsv)" = /subscriptions/slurm/resourceGroups/mygroup/providers/Microsoft.BatchAI/workspaces/mywork/experiments/exp ]
    [ "$(az batchai experiment show -n exp -g other 2>&1)" != "$(az batchai experiment show -n exp)" ]
    AZURE_DEFAULTS_GROUP=other az batchai workspace create -n w --query resourceGroup -o tsv | grep -x other
    [ "$(az group exists -n mygroup) $(az group exists -n none)" = "true false" ]
    run az configure --defaults group=a/b
    [[ $status = 2 && $output == "batchai: --defaults group=a/b: 'a/b' is not a name: "* ]]
    az configure --defaults group= workspace=''
    [ "$(az configure --list-defaults)" = "[]" ]
    [ "$(az account show --query '{name: name, id: id}' -o tsv)" = $'slurm\tslurm' ]
}

@test "a cluster's volume that the policy does not allow is left out with a note" {
    cp "$BATCHAI_POLICY" policy.toml
    printf '[[share]]\nshare = "other"\nsource = "%s"\n' "$share" >>policy.toml
    BATCHAI_POLICY=$work/policy.toml batchai cluster create -n mounts --afs-name other --afs-mount-path external --setup-task 'apt install x' >said 2>noted
    [ "$(jq -r '.nodeSetup.setupTask.commandLine' said)" = 'apt install x' ]
    grep -q 'the setup task is recorded and not run' noted
    # shellcheck disable=SC2016 # the service's variable
    write_command job.json 1 'ls "$AZ_BATCHAI_MOUNT_ROOT"'
    batchai job create -n without -c mounts -f job.json --storage-account-name a >said 2>noted
    grep -q "cluster mounts: one of its volumes is left out: share 'other'" noted
    batchai job wait -n without
    [ "$(batchai job file stream -j without -f stdout.txt 2>/dev/null)" = myshare ]
}

@test "a finding keeps its place in the file when a cluster adds volumes" {
    batchai cluster create -n mounts --afs-name myshare --afs-mount-path more --replace
    write_command job.json 1 true
    jq '.properties.nodeCount = "1"' job.json >bad.json
    line=$(grep -n nodeCount bad.json | cut -d : -f 1)
    refused_with "batchai: bad.json:$line:*properties.nodeCount*" job create -n bad -c mounts -f bad.json --storage-account-name a
}
