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
        -o | --output) words="json table" ;;
        -f | --config-file | --source | --dest)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
    esac
    [ -n "$words" ] || case $path in
        "") words="job cluster storage group workspace experiment admin completion --help --version" ;;
        " job") words="create run check show list wait terminate delete file --help" ;;
        " job create") words="--help --output --query --config-file --name --resource-group --workspace --experiment --storage-account-name --storage-account-key --cluster --dry-run --partition --account --qos --reservation --time" ;;
        " job run") words="--help --output --query --config-file --name --resource-group --workspace --experiment --storage-account-name --storage-account-key --local --cluster" ;;
        " job check") words="--help --output --query --config-file --json --storage-account-name" ;;
        " job show") words="--help --output --query --name --job --resource-group --workspace --experiment" ;;
        " job list") words="--help --output --query --resource-group --workspace --experiment" ;;
        " job wait") words="--help --output --query --name --job --resource-group --workspace --experiment --interval" ;;
        " job terminate") words="--help --output --query --name --job --resource-group --workspace --experiment --yes --no-wait" ;;
        " job delete") words="--help --output --query --name --job --resource-group --workspace --experiment --yes --no-wait" ;;
        " job file") words="list stream --help" ;;
        " job file list") words="--help --output --query --name --job --resource-group --workspace --experiment --output-directory-id --path --expiry" ;;
        " job file stream") words="--help --output --query --name --job --resource-group --workspace --experiment --output-directory-id --path --expiry --file-name" ;;
        " cluster") words="create show list resize delete --help" ;;
        " cluster create") words="--help --output --query --name --resource-group --workspace --partition --target --vm-size --vm-priority --user-name --config-file --image --custom-image --min --max --ssh-key --password --nfs --nfs-mount-path --afs-name --afs-mount-path --bfs-name --bfs-mount-path --storage-account-name --storage-account-key --subnet --setup-task --setup-task-output --location --generate-ssh-keys --use-auto-storage --no-wait" ;;
        " cluster show") words="--help --output --query --name --resource-group --workspace" ;;
        " cluster list") words="--help --output --query --resource-group --workspace" ;;
        " cluster resize") words="--help --output --query --name --resource-group --workspace --target" ;;
        " cluster delete") words="--help --output --query --name --resource-group --workspace --yes --no-wait" ;;
        " storage") words="account share directory file --help" ;;
        " storage account") words="create --help" ;;
        " storage account create") words="--help --output --query --name --resource-group --location --sku --kind --tags --access-tier" ;;
        " storage share") words="create --help" ;;
        " storage share create") words="--help --output --query --name --account-name --account-key --connection-string --sas-token --quota --metadata" ;;
        " storage directory") words="create --help" ;;
        " storage directory create") words="--help --output --query --name --share-name --account-name --account-key --connection-string --sas-token --metadata" ;;
        " storage file") words="upload download list --help" ;;
        " storage file upload") words="--help --output --query --share-name --account-name --account-key --connection-string --sas-token --source --path --content-type --max-connections --metadata --no-progress --validate-content" ;;
        " storage file download") words="--help --output --query --share-name --account-name --account-key --connection-string --sas-token --path --dest --max-connections --no-progress --validate-content" ;;
        " storage file list") words="--help --output --query --share-name --account-name --account-key --connection-string --sas-token --path" ;;
        " group") words="create show list delete --help" ;;
        " group create") words="--help --output --query --name --resource-group --location --tags --managed-by" ;;
        " group show") words="--help --output --query --name --resource-group" ;;
        " group list") words="--help --output --query" ;;
        " group delete") words="--help --output --query --name --resource-group --yes --no-wait" ;;
        " workspace") words="create show list delete --help" ;;
        " workspace create") words="--help --output --query --workspace --name --resource-group --location --tags --managed-by" ;;
        " workspace show") words="--help --output --query --workspace --name --resource-group" ;;
        " workspace list") words="--help --output --query --resource-group" ;;
        " workspace delete") words="--help --output --query --workspace --name --resource-group --yes --no-wait" ;;
        " experiment") words="create show list delete --help" ;;
        " experiment create") words="--help --output --query --name --experiment --resource-group --workspace --location --tags --managed-by" ;;
        " experiment show") words="--help --output --query --name --experiment --resource-group --workspace" ;;
        " experiment list") words="--help --output --query --resource-group --workspace" ;;
        " experiment delete") words="--help --output --query --name --experiment --resource-group --workspace --yes --no-wait" ;;
        " admin") words="check doctor --help" ;;
        " admin check") words="--help --output --query --plugstack --json" ;;
        " admin doctor") words="--help --output --query --plugstack --json" ;;
        " completion") words="--help" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _batchai batchai
