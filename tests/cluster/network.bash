# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # set in servers.bash and plugin.bash
#
# A site whose shares are on servers of the login node (servers.bash), and jobs that mount them.

load plugin
load servers

credentials=$MINISLURM_DIR/credentials

# cifs_share NAME CREDENTIALS [LINE]...: a table of the policy.
cifs_share() {
    printf '[[share]]\nshare = "%s"\ntype = "cifs"\nsource = "//10.87.0.1/share"\n' "$1"
    printf 'options = "vers=3.1.1,port=1445"\ncredentials = "%s"\n' "$2"
    printf '%s\n' "${@:3}"
}

# nfs_server NAME EXPORT OPTIONS
nfs_server() {
    printf '[[file_server]]\nname = "%s"\ntype = "nfs"\nsource = "%s"\noptions = "%s"\n' "$@"
}

# make_network_site MOUNT_TIMEOUT: both servers, and the policy.
make_network_site() {
    start_nfs
    start_smb
    mkdir -m 700 "$credentials"
    echo 'the site says hello' >"$smb_dir/hello"
    mkdir -p "$export_dir/data"
    chmod 777 "$smb_dir" "$export_dir/data"
    (
        umask 077
        printf 'username=alice\npassword=%s\n' "$password" >"$credentials/site"
        printf 'username=alice\npassword=not-%s\n' "$password" >"$credentials/wrong"
    )
    {
        printf '[paths]\ncredentials = "%s"\n[job]\nmount_timeout = %s\n' "$credentials" "$1"
        cifs_share site store:site 'file_mode = "0750"' 'directory_mode = "0750"'
        cifs_share own user:own
        cifs_share key job
        cifs_share wrong store:wrong
        nfs_server fs1 10.87.0.1:/export vers=4.2,soft,timeo=50,retrans=2
        nfs_server v3 10.87.0.1:/export vers=3,nolock,soft
        nfs_server below 10.87.0.1:/export/data vers=4.2,soft
        nfs_server below3 10.87.0.1:/export/data vers=3,nolock,soft
        nfs_server hard 10.87.0.1:/export vers=4.2,hard
        nfs_server missing 10.87.0.1:/nowhere vers=4.2,soft
        nfs_server refusing 10.87.0.1:/export vers=4.2,soft,port=9
        cifs_share silent store:site | sed 's,10.87.0.1/,10.87.0.99/,'
        nfs_server silent 10.87.0.99:/export vers=4.2,soft
        printf '[[allow]]\nsource = "%s"\n' "$open"
    } >"$MINISLURM_DIR/batchai.toml"
    mkdir -p "$open"
    chmod 777 "$open"
}

# share_of NAME AT [MORE]: a share of a job file; file_server_of NAME AT [DIRECTORY [OPTIONS]]
share_of() {
    echo "{\"azureFileUrl\": \"https://account.file.core.windows.net/$1\", \"relativeMountPath\": \"$2\"${3:+, $3}}"
}
file_server_of() {
    echo "{\"fileServer\": {\"id\": \"/subscriptions/s/fileservers/$1\"}, \"relativeMountPath\": \"$2\",
        \"sourceDirectory\": \"${3-}\", \"mountOptions\": \"${4-}\"}"
}

# write_network_job SHARES FILE_SERVERS [COMMAND_LINE]: job.json, whose output is on the first mount.
write_network_job() {
    local all="[$1]" servers="[$2]"
    jq -n --argjson shares "$all" --argjson servers "$servers" --arg command "${3-true}" '{properties: {
        nodeCount: 1, customMpiSettings: {commandLine: $command, processCount: 1},
        stdOutErrPathPrefix: ("$AZ_BATCHAI_JOB_MOUNT_ROOT/" + ($shares + $servers)[0].relativeMountPath),
        mountVolumes: {azureFileShares: $shares, fileServers: $servers}}}' >job.json
    chown alice job.json
    chmod 600 job.json
}

# run_network_job SCRIPT_LINE...: submits job.json with that script; sets state when it is over.
run_network_job() {
    write_script job.sh "$@"
    submit_alice -N 1 -o out --batchai-job=job.json job.sh
    state=$(wait_job "$job")
}

succeeded() { [ "$state" = COMPLETED ] || { cat out >&2 && return 1; }; }

# failed_with PATTERN: the job has failed with one line on its output, like this, and started nothing.
failed_with() {
    [ "$state" = FAILED ] || { echo "state $state" >&2 && return 1; }
    [ ! -e started ] || { echo "started" >&2 && return 1; }
    local line
    line=$(one_line out) || return
    # shellcheck disable=SC2053 # a pattern
    [[ $line == $1 ]] || { echo "another line: $line" >&2 && return 1; }
}
