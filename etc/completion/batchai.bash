# SPDX-License-Identifier: Apache-2.0
# bash completion for batchai; made by `batchai completion`.
_batchai() {
    local word path="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in -*) break ;; esac
        path+=" $word"
    done
    local previous=${COMP_WORDS[COMP_CWORD - 1]} current=${COMP_WORDS[COMP_CWORD]} words=""
    case $previous in
        -o | --output) words="json jsonc yaml yamlc table tsv none" ;;
        -f | --config-file | --source | --dest)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        -n | --name | -j | --job)
            case $path in
                " job create" | " job run" | " job check") ;;
                " job "*) words=$(batchai job list --query '[].name' --output tsv 2>/dev/null) ;;
            esac
            ;;
    esac
    [ -n "$words" ] || case $path in
        "") words="job top cluster file-server list-usages storage group workspace experiment policy admin configure print completion --help --version" ;;
        " job") words="create run check show list wait stacks terminate delete file node --help" ;;
        " job create") words="--help --output --query --verbose --debug --only-show-errors --subscription --config-file --name --resource-group --workspace --experiment --storage-account-name --storage-account-key --afs-name --afs-mount-path --bfs-name --bfs-mount-path --nfs --nfs-name --nfs-resource-group --nfs-mount-path --location --cluster --cluster-name --cluster-resource-group --wait --without-plugin --dry-run --partition --restarts --requeue-on --max-requeues --hang-report --grace --label --account --qos --reservation --time" ;;
        " job run") words="--help --output --query --verbose --debug --only-show-errors --subscription --config-file --name --resource-group --workspace --experiment --storage-account-name --storage-account-key --afs-name --afs-mount-path --bfs-name --bfs-mount-path --nfs --nfs-name --nfs-resource-group --nfs-mount-path --location --local --restarts --hang-report --grace --label --share --image --cluster" ;;
        " job check") words="--help --output --query --verbose --debug --only-show-errors --subscription --config-file --json --storage-account-name --storage-account-key" ;;
        " job show") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --watch" ;;
        " job list") words="--help --output --query --verbose --debug --only-show-errors --subscription --resource-group --workspace --experiment --since --state --last" ;;
        " job wait") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --interval" ;;
        " job stacks") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment" ;;
        " job terminate") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --yes --no-wait" ;;
        " job delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --yes --no-wait" ;;
        " job file") words="list stream --help" ;;
        " job file list") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --output-directory-id --path --expiry" ;;
        " job file stream") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --output-directory-id --path --expiry --file-name" ;;
        " job node") words="list exec --help" ;;
        " job node list") words="--help --output --query --verbose --debug --only-show-errors --subscription --job --ids --resource-group --workspace --experiment" ;;
        " job node exec") words="--help --output --query --verbose --debug --only-show-errors --subscription --job --ids --resource-group --workspace --experiment --exec --node-id --address --ssh-private-key --password" ;;
        " top") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --job --ids --resource-group --workspace --experiment --once" ;;
        " cluster") words="create show list resize auto-scale delete file node --help" ;;
        " cluster create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group --workspace --config-file --partition --target --min --max --image --vm-size --vm-priority --user-name --setup-task --setup-task-output --afs-name --afs-mount-path --bfs-name --bfs-mount-path --nfs --nfs-name --nfs-resource-group --nfs-mount-path --storage-account-name --replace --use-auto-storage --custom-image --ssh-key --password --storage-account-key --subnet --location --generate-ssh-keys --no-wait" ;;
        " cluster show") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace" ;;
        " cluster list") words="--help --output --query --verbose --debug --only-show-errors --subscription --resource-group --workspace" ;;
        " cluster resize") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace --target --no-wait" ;;
        " cluster auto-scale") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace --min --max --no-wait" ;;
        " cluster delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace --yes --no-wait" ;;
        " cluster file") words="list --help" ;;
        " cluster file list") words="--help --output --query --verbose --debug --only-show-errors --subscription --cluster --name --ids --resource-group --workspace --path --expiry" ;;
        " cluster node") words="list exec --help" ;;
        " cluster node list") words="--help --output --query --verbose --debug --only-show-errors --subscription --cluster --ids --resource-group --workspace" ;;
        " cluster node exec") words="--help --output --query --verbose --debug --only-show-errors --subscription --cluster --ids --resource-group --workspace --exec --node-id --address --ssh-private-key --password" ;;
        " file-server") words="create show list delete --help" ;;
        " file-server create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace --config-file --vm-size --disk-count --disk-size --storage-sku --caching-type --user-name --replace --ssh-key --password --subnet --location --generate-ssh-keys --no-wait" ;;
        " file-server show") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace" ;;
        " file-server list") words="--help --output --query --verbose --debug --only-show-errors --subscription --resource-group --workspace" ;;
        " file-server delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --ids --resource-group --workspace --yes --no-wait" ;;
        " list-usages") words="--help --output --query --verbose --debug --only-show-errors --subscription --location" ;;
        " storage") words="account share container directory file blob --help" ;;
        " storage account") words="create show-connection-string keys --help" ;;
        " storage account create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group --location --sku --kind --tags --access-tier" ;;
        " storage account show-connection-string") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group" ;;
        " storage account keys") words="list --help" ;;
        " storage account keys list") words="--help --output --query --verbose --debug --only-show-errors --subscription --account-name --resource-group" ;;
        " storage share") words="create exists list --help" ;;
        " storage share create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --quota --metadata --public-access --fail-on-exist" ;;
        " storage share exists") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --account-name --account-key --connection-string --sas-token --auth-mode --timeout" ;;
        " storage share list") words="--help --output --query --verbose --debug --only-show-errors --subscription --account-name --account-key --connection-string --sas-token --auth-mode --timeout" ;;
        " storage container") words="create exists list --help" ;;
        " storage container create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --quota --metadata --public-access --fail-on-exist" ;;
        " storage container exists") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --account-name --account-key --connection-string --sas-token --auth-mode --timeout" ;;
        " storage container list") words="--help --output --query --verbose --debug --only-show-errors --subscription --account-name --account-key --connection-string --sas-token --auth-mode --timeout" ;;
        " storage directory") words="create exists list delete --help" ;;
        " storage directory create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --metadata --fail-on-exist" ;;
        " storage directory exists") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --metadata --fail-on-exist" ;;
        " storage directory list") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --metadata --fail-on-exist" ;;
        " storage directory delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --metadata --fail-on-exist" ;;
        " storage file") words="upload download list exists delete upload-batch download-batch --help" ;;
        " storage file upload") words="--help --output --query --verbose --debug --only-show-errors --subscription --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --source --path --content-type --max-connections --metadata --no-progress --validate-content" ;;
        " storage file download") words="--help --output --query --verbose --debug --only-show-errors --subscription --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --path --dest --max-connections --no-progress --validate-content" ;;
        " storage file list") words="--help --output --query --verbose --debug --only-show-errors --subscription --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --path" ;;
        " storage file exists") words="--help --output --query --verbose --debug --only-show-errors --subscription --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --path" ;;
        " storage file delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --share-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --path" ;;
        " storage file upload-batch") words="--help --output --query --verbose --debug --only-show-errors --subscription --destination --account-name --account-key --connection-string --sas-token --auth-mode --timeout --pattern --dryrun --max-connections --no-progress --validate-content --source --destination-path --content-type --metadata --type --tier --overwrite" ;;
        " storage file download-batch") words="--help --output --query --verbose --debug --only-show-errors --subscription --source --account-name --account-key --connection-string --sas-token --auth-mode --timeout --pattern --dryrun --max-connections --no-progress --validate-content --destination --overwrite" ;;
        " storage blob") words="upload download list exists delete upload-batch download-batch delete-batch --help" ;;
        " storage blob upload") words="--help --output --query --verbose --debug --only-show-errors --subscription --container-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --file --name --type --content-type --metadata --max-connections --tier --no-progress --validate-content --overwrite" ;;
        " storage blob download") words="--help --output --query --verbose --debug --only-show-errors --subscription --container-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --name --file --max-connections --no-progress --validate-content --overwrite" ;;
        " storage blob list") words="--help --output --query --verbose --debug --only-show-errors --subscription --container-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --prefix --num-results --marker --delimiter" ;;
        " storage blob exists") words="--help --output --query --verbose --debug --only-show-errors --subscription --container-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --name" ;;
        " storage blob delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --container-name --account-name --account-key --connection-string --sas-token --auth-mode --timeout --name" ;;
        " storage blob upload-batch") words="--help --output --query --verbose --debug --only-show-errors --subscription --destination --account-name --account-key --connection-string --sas-token --auth-mode --timeout --pattern --dryrun --max-connections --no-progress --validate-content --source --destination-path --content-type --metadata --type --tier --overwrite" ;;
        " storage blob download-batch") words="--help --output --query --verbose --debug --only-show-errors --subscription --source --account-name --account-key --connection-string --sas-token --auth-mode --timeout --pattern --dryrun --max-connections --no-progress --validate-content --destination --overwrite" ;;
        " storage blob delete-batch") words="--help --output --query --verbose --debug --only-show-errors --subscription --source --account-name --account-key --connection-string --sas-token --auth-mode --timeout --pattern --dryrun --max-connections --no-progress --validate-content" ;;
        " group") words="create show exists list delete --help" ;;
        " group create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group --ids --location --tags --managed-by" ;;
        " group show") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group --ids" ;;
        " group exists") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group --ids" ;;
        " group list") words="--help --output --query --verbose --debug --only-show-errors --subscription" ;;
        " group delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --resource-group --ids --yes --no-wait" ;;
        " workspace") words="create show list delete --help" ;;
        " workspace create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --workspace --ids --resource-group --location --tags --managed-by" ;;
        " workspace show") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --workspace --ids --resource-group" ;;
        " workspace list") words="--help --output --query --verbose --debug --only-show-errors --subscription --resource-group" ;;
        " workspace delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --workspace --ids --resource-group --yes --no-wait" ;;
        " experiment") words="create show list delete --help" ;;
        " experiment create") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --experiment --ids --resource-group --workspace --location --tags --managed-by" ;;
        " experiment show") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --experiment --ids --resource-group --workspace" ;;
        " experiment list") words="--help --output --query --verbose --debug --only-show-errors --subscription --resource-group --workspace" ;;
        " experiment delete") words="--help --output --query --verbose --debug --only-show-errors --subscription --name --experiment --ids --resource-group --workspace --yes --no-wait" ;;
        " policy") words="suggest --help" ;;
        " policy suggest") words="--help --output --query --verbose --debug --only-show-errors --subscription --config-file --share --image" ;;
        " admin") words="check doctor --help" ;;
        " admin check") words="--help --output --query --verbose --debug --only-show-errors --subscription --plugstack --home --list --json" ;;
        " admin doctor") words="--help --output --query --verbose --debug --only-show-errors --subscription --plugstack --home --nodes --json" ;;
        " configure") words="--help --output --query --verbose --debug --only-show-errors --subscription --defaults --scope --list-defaults" ;;
        " print") words="--help --output --query --verbose --debug --only-show-errors --subscription" ;;
        " completion") words="--help" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _batchai batchai
