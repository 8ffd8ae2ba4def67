#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The walk-through, word for word except "az": every command in order, on four nodes.
# minislurm: -n 4 -g 1
# plugin: policy=/run/minislurm/batchai.toml

load cli

# One test, because each command uses the results of the earlier ones.
@test "the walk-through's commands work in their order, as they are written" {
    write_walk_through

    batchai group create --name batchai.horovod --location eastus >said
    [ "$(jq -r .location said)" = eastus ]
    batchai workspace create --resource-group batchai.horovod --workspace batchaidev
    batchai experiment create --resource-group batchai.horovod --workspace batchaidev --name cifar
    batchai cluster create --resource-group batchai.horovod --workspace batchaidev --name nc6cluster \
        --vm-priority dedicated --vm-size Standard_NC6 --target 4 --generate-ssh-keys
    batchai cluster show --name nc6cluster --workspace batchaidev --resource-group batchai.horovod \
        --output table >said
    diff - said <<'END'
Name        Resource Group    Workspace    VM Size       State      Idle    Running    Preparing    Leaving    Unusable
----------  ----------------  -----------  ------------  -------  ------  ---------  -----------  ---------  ----------
nc6cluster  batchai.horovod   batchaidev   STANDARD_NC6  steady        4          0            0          0           0
END
    batchai storage account create --name mystorageaccount --resource-group batchai.horovod --location eastus \
        --sku Standard_LRS
    batchai storage share create --name myshare --account-name mystorageaccount
    batchai storage directory create --name cifar --share-name myshare --account-name mystorageaccount
    batchai storage file upload --path cifar --share-name myshare --source cifar_cnn_distributed.py \
        --account-name mystorageaccount
    cmp cifar_cnn_distributed.py "$share/cifar/cifar_cnn_distributed.py"

    batchai job create --cluster nc6cluster --name cifar_distributed --resource-group batchai.horovod \
        --workspace batchaidev --experiment cifar --config-file job.json --storage-account-name mystorageaccount >said
    [ "$(jq -r '"\(.executionState) \(.nodeCount) \(.toolType)"' said)" = "queued 4 horovod" ]
    batchai job file stream --experiment cifar --file-name stdout.txt --job cifar_distributed \
        --resource-group batchai.horovod --workspace batchaidev >streamed
    [ "$(sort streamed)" = "$(printf 'rank %d\n' 0 1 2 3)" ]
    batchai job wait "${scope[@]}" --name cifar_distributed
    batchai job show --experiment cifar --name cifar_distributed --resource-group batchai.horovod \
        --workspace batchaidev --query "executionState" >said
    [ "$(cat said)" = '"succeeded"' ]
    deadline=10 eventually all_idle
    batchai job file list --experiment cifar --job cifar_distributed --resource-group batchai.horovod \
        --workspace batchaidev --output table >said
    for node in n1 n2 n3 n4; do
        for name in "execution-$node.log" "stdout-job_prep-$node.txt" "stderr-job_prep-$node.txt"; do
            grep -q "^$name  *file  *[0-9]*  20" said
        done
    done
    grep -q "^stdout.txt  *file  *28  " said
    grep -q '^stderr.txt  ' said
    batchai job list "${scope[@]}" -o table | grep -qE '^cifar_distributed +nc6cluster +batchai.horovod +batchaidev +horovod +4 +succeeded +0 +cifar +[0-9]+ +20[^ ]+ +20[^ ]+$'

    batchai storage file download --path cifar/saved_models/keras_cifar10_trained_model.h5 --share-name myshare \
        --account-name mystorageaccount
    [ "$(cat keras_cifar10_trained_model.h5)" = weights ]
    batchai cluster resize --name nc6cluster --resource-group batchai.horovod --target 0 --workspace batchaidev
    batchai group delete --name batchai.horovod --yes
    [ "$(batchai job list)" = "[]" ]
    [ -e "$share/cifar/saved_models/keras_cifar10_trained_model.h5" ]
    rm -r "$share/cifar"
}

all_idle() {
    batchai cluster show --name nc6cluster --workspace batchaidev --resource-group batchai.horovod \
        --query "nodeStateCounts" >said
    diff - said <<'END'
{
  "idleNodeCount": 4,
  "leavingNodeCount": 0,
  "preparingNodeCount": 0,
  "runningNodeCount": 0,
  "unusableNodeCount": 0
}
END
}

@test "cluster show tells how many nodes are running a job" {
    batchai cluster create "${scope[@]:0:4}" -n nc6cluster --replace
    start hold 3 'sleep 60'
    eventually is_in_state hold running
    [ "$(batchai cluster show "${scope[@]:0:4}" -n nc6cluster --query nodeStateCounts.runningNodeCount)" = 3 ]
    batchai job terminate "${scope[@]}" -n hold -y
    eventually is_in_state hold failed
}

@test "cluster show tells how many nodes are unusable, and --target how many there are" {
    scontrol update NodeName=n4 State=DRAIN Reason=test
    batchai cluster show -n nc6cluster -o table | grep -qE 'steady +3 +0 +0 +0 +1$'
    scontrol update NodeName=n4 State=RESUME
    refused_with '*--target 5: partition mini has 4 nodes' cluster create -n big --target 5
    refused_with '*cluster big: not found*' cluster show -n big
}

@test "a group may be created twice" {
    batchai group create --name g
    batchai group create --name g
    [ "$(batchai group list --query 'length(@)')" = 1 ]
}
