#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# cluster create and file-server create: what they refuse, before anything is recorded.
# minislurm: -n 2
# plugin: policy=/run/minislurm/batchai.toml
#
# shellcheck disable=SC2154 # work is set by plugin.bash

load cli

setup_file() {
    make_site
    cat >>"$BATCHAI_POLICY" <<TOML
[[file_server]]
name = "nfs1"
source = "$MINISLURM_DIR/share"
TOML
}

clusters() { batchai cluster list --query '[].name' -o tsv | sort | paste -sd ' '; }

@test "a cluster of an existing name is refused, and replaced only with --replace" {
    batchai cluster create -n one --afs-name myshare
    run -1 batchai cluster create -n one
    [[ $output == "batchai: cluster one: already exists in workspace default of group default: delete it first, or give --replace" ]]
    [ "$(batchai cluster show -n one --query 'nodeSetup.mountVolumes.azureFileShares[].relativeMountPath' -o tsv)" = afs ]
    batchai cluster create -n one -w other # another workspace's
    batchai cluster create -n one --replace
    [ "$(batchai cluster show -n one --query 'nodeSetup')" = "" ]
    batchai file-server create -n nfs1
    run batchai file-server create -n nfs1
    [[ $status = 1 && $output == "batchai: file server nfs1: already exists in workspace default of group default: "* ]]
    batchai file-server create -n nfs1 --disk-count 2 --replace
    batchai cluster delete -n one -y
    batchai cluster create -n one
}

@test "a mount path outside the mount root is refused, for clusters and jobs" {
    write_command job.json 1 true
    for path in /abs ../up a/../b ''; do
        for option in --afs-mount-path --bfs-mount-path --nfs-mount-path; do
            refused_with "batchai: $option: '$path' is not a path below the mount root*" cluster create -n two --afs-name myshare "$option" "$path"
            refused_with "batchai: $option: '$path' is not a path below the mount root*" job create "${scope[@]}" -n two -f job.json "$option" "$path"
        done
    done
    [[ " $(clusters) " != *" two "* ]]
}

@test "a share, container or file server that the policy does not name is refused when the cluster is created" {
    entry='[[share]]' refused_with "batchai: cluster two: share 'nosuch' of account 'a' is unknown here: *" \
        cluster create -n two --afs-name nosuch --storage-account-name a
    entry='[[share]]' refused_with "batchai: cluster two: share 'nosuch' is unknown here: *" cluster create -n two --afs-name nosuch
    entry='[[blob_container]]' refused_with "batchai: cluster two: blob container 'nosuch' *" cluster create -n two --bfs-name nosuch
    entry='[[file_server]]' refused_with "batchai: cluster two: file server 'nosuch' *" cluster create -n two --nfs nosuch
    [[ " $(clusters) " != *" two "* ]]
    batchai cluster create -n two --nfs nfs1
    # The service made these: a note, because the user has not named them.
    batchai cluster create -n auto --use-auto-storage >said 2>noted
    grep -q "cluster auto: share 'batchaishare' is unknown here: .*; jobs run without it" noted
}

@test "cluster.json and nfs.json are read as strictly as a job file" {
    echo '{"properties": {"vmSise": "x", "scaleSettings": {"manual": {"targetNodeCount": 1}}}}' >cluster.json
    batchai cluster create -n three -f cluster.json >said 2>noted
    grep -q "cluster.json:1:27: warning: properties.vmSise: unknown key, ignored; did you mean 'vmSize'?" noted
    [ "$(jq .scaleSettings.manual.targetNodeCount said)" = 1 ]
    sed -i 's/: 1}/: "two"}/' cluster.json
    sed -i s/vmSise/vmSize/ cluster.json
    refused_with "batchai: cluster.json:1:*: properties.scaleSettings.manual.targetNodeCount: expected an integer, found a string" \
        cluster create -n four -f cluster.json
    write_command job.json 1 true
    jq '{properties: {nodeCount: .properties.nodeCount}}' job.json >one.json
    refused_with "batchai: one.json:3:*: properties.nodeCount: is of a job file: 'batchai job create -f' takes it" cluster create -n four -f one.json
    refused_with "batchai: one.json:3:*: properties.nodeCount: is of a job file: *" file-server create -n nfs1 -w new -f one.json
    echo '{"properties": {"dataDisks": {"diskCount": "two"}}}' >nfs.json
    refused_with "batchai: nfs.json:1:*: properties.dataDisks.diskCount: expected an integer, found a string" file-server create -n nfs1 -w new -f nfs.json
    refused_with "batchai: none.json: No such file or directory" cluster create -n four -f none.json
    [[ " $(clusters) " != *" four "* ]]
}

@test "the storage account of the variable is in the cluster's volumes" {
    cat >cluster.json <<'JSON'
{"properties": {"nodeSetup": {"mountVolumes": {"azureFileShares": [{"accountName": "<AZURE_BATCHAI_STORAGE_ACCOUNT>",
  "azureFileUrl": "https://<AZURE_BATCHAI_STORAGE_ACCOUNT>.file.core.windows.net/myshare", "relativeMountPath": "x"}]}}}}
JSON
    AZURE_BATCHAI_STORAGE_ACCOUNT=mine batchai cluster create -n five -f cluster.json --afs-name myshare
    [ "$(batchai cluster show -n five --query 'nodeSetup.mountVolumes.azureFileShares[].[accountName, azureFileUrl]' -o tsv)" = \
        $'mine\thttps://mine.file.core.windows.net/myshare\nmine\thttps://mine.file.core.windows.net/myshare' ]
    batchai cluster create -n six -f cluster.json # the job's account is put there
    [ "$(batchai cluster show -n six --query 'nodeSetup.mountVolumes.azureFileShares[0].accountName' -o tsv)" = '<AZURE_BATCHAI_STORAGE_ACCOUNT>' ]
}

@test "a cluster of another group or workspace is found by its ARM id, or with --cluster-resource-group" {
    batchai cluster create -g there -w other -n far
    batchai cluster create -g there -n near
    write_command job.json 1 true
    create=(job create -n job -f job.json --storage-account-name a --dry-run)
    entry='[cluster.far]' refused_with "batchai: cluster far: not known: *" "${create[@]}" -c far
    for option in -c -r; do
        batchai "${create[@]}" "$option" /subscriptions/s/resourceGroups/there/providers/Microsoft.BatchAI/workspaces/other/clusters/far | grep -q '^sbatch '
    done
    entry='[cluster.near]' refused_with "batchai: cluster near: not known: *" "${create[@]}" -c near
    batchai "${create[@]}" -r near --cluster-resource-group there | grep -q '^sbatch '
    [ "$(batchai cluster create -n servers --nfs nfs1 --nfs-resource-group there --query 'nodeSetup.mountVolumes.fileServers[0].fileServer.id' -o tsv)" = \
        /subscriptions/slurm/resourceGroups/there/providers/Microsoft.BatchAI/workspaces/default/fileservers/nfs1 ]
}

@test "deleting a cluster ends its jobs of all groups, and no job of another group's cluster of that name" {
    batchai cluster create -g one -n twin
    batchai cluster create -g two -n twin
    write_command job.json 1 'exec sleep 300'
    sed -i 's/<AZURE_BATCHAI_STORAGE_ACCOUNT>/a/' job.json
    batchai job create -g one -n own -f job.json -c twin
    batchai job create -g one -n far -f job.json -c twin --cluster-resource-group two
    [ "$(batchai job list -g one --query '[].[name, cluster.resourceGroup]' -o tsv)" = $'own\tone\nfar\ttwo' ]
    batchai cluster delete -g two -n twin --yes
    [ "$(batchai job show -g one -n far --query executionState)" = '"failed"' ]
    [ "$(squeue -h -o %j)" = own ]
    batchai cluster delete -g one -n twin --yes
    [ -z "$(squeue -h -o %j)" ]
}
