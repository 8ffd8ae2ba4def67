# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of FUSE mounts have in common: an SSH, an SMB and an S3 server on the login node, and
# a policy with the programs that mount what they serve.

load plugin
load servers
: "${deadline:?}" # set there

served=$MINISLURM_DIR/served
# shellcheck disable=SC2034 # of servers.bash
smb_dir=$served # what the SMB server serves
images=$MINISLURM_DIR/images

# In the background, until the cluster ends. It has none of bats' descriptors: bats would wait for them.
serve() {
    (
        for fd in /proc/"$BASHPID"/fd/*; do
            fd=${fd##*/}
            ((fd <= 2)) || eval "exec $fd>&-"
        done
        exec "$@"
    ) </dev/null >"$MINISLURM_DIR/log/${1##*/}.log" 2>&1 &
}

start_sshd() {
    local keys=$MINISLURM_DIR/sshd
    mkdir -p /run/sshd "$keys"
    ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
    ssh-keygen -q -t ed25519 -N '' -f "$keys/user"
    ssh-keygen -q -t ed25519 -N '' -f "$keys/wrong"
    cp "$keys/user.pub" "$keys/authorized"
    chmod 711 "$keys"
    cat >"$keys/config" <<CONF
Port 12022
ListenAddress 10.87.0.1
HostKey $keys/host
AuthorizedKeysFile $keys/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
Subsystem sftp internal-sftp
CONF
    serve /usr/sbin/sshd -D -e -f "$keys/config"
    echo "[10.87.0.1]:12022 $(cut -d' ' -f1,2 "$keys/host.pub")" >"$keys/known_hosts"
    install -m 600 "$keys/user" "$MINISLURM_DIR/credentials/key"
    install -m 600 "$keys/wrong" "$MINISLURM_DIR/credentials/wrong_key"
    eventually port_is_open 12022
}

start_s3() {
    mkdir -p "$MINISLURM_DIR/bucket"
    serve python3 "$BATCHAI_SOURCE/tests/cluster/s3_server.py" "$MINISLURM_DIR/bucket" 9000 GOODKEY
    (umask 077 && echo "GOODKEY:$password" >"$MINISLURM_DIR/credentials/s3")
    (umask 077 && echo "BADKEY:$password" >"$MINISLURM_DIR/credentials/wrong_s3")
    eventually port_is_open 9000
}

# rclone_config FILE PASSWORD KEY_FILE: remotes smb: and sftp:.
rclone_config() {
    (
        umask 077
        cat >"$1" <<CONF
[smb]
type = smb
host = 10.87.0.1
port = 1445
user = alice
pass = $(rclone obscure "$2")
[sftp]
type = sftp
host = 10.87.0.1
port = 12022
user = alice
key_pem = $(awk '{ printf "%s\\n", $0 }' "$3")
known_hosts_file = $MINISLURM_DIR/sshd/known_hosts
CONF
    )
}

make_images() {
    local tree=$MINISLURM_DIR/tree
    mkdir -p "$tree/sub" "$images"
    echo squashed >"$tree/file"
    chmod 777 "$images"
    as_alice mksquashfs "$tree" "$images/data.sqsh" -quiet -no-progress >/dev/null
    echo 'not an image' >"$images/broken.sqsh"
}

# entry NAME PROGRAM SOURCE [CREDENTIALS]: an [[allow]] of the policy, to be had as volume=NAME.
entry() {
    printf '[[allow]]\nname = "%s"\ntype = "fuse"\nprogram = "%s"\nsource = "%s"\n' "$1" "$2" "$3"
    [ -z "${4-}" ] || printf 'credentials = "%s"\n' "$4"
}

make_fuse_site() {
    local ssh="IdentityFile={credentials},IdentitiesOnly=yes,BatchMode=yes,UserKnownHostsFile=$MINISLURM_DIR/sshd/known_hosts"
    {
        cat <<TOML
[paths]
credentials = "$MINISLURM_DIR/credentials"
[program.sshfs]
command = ["/usr/bin/sshfs", "{source}", "{target}", "-f", "-p", "12022", "-F", "/dev/null", "-o", "$ssh"]
[program.rclone]
command = ["/usr/bin/rclone", "mount", "{source}", "{target}", "--config", "{credentials}", "--cache-dir", "{cache}",
           "--vfs-cache-mode", "writes", "--vfs-write-back", "0s", "--low-level-retries", "1", "--bwlimit", "2M", "--uid", "{uid}", "--gid", "{gid}"]
[program.squashfuse]
command = ["/usr/bin/squashfuse", "-f", "{source}", "{target}"]
[program.s3fs]
command = ["/usr/bin/s3fs", "{source}", "{target}", "-f", "-o",
           "url=http://10.87.0.1:9000,use_path_request_style,complement_stat,passwd_file={credentials}"]
[program.true]
command = ["/bin/true"]
[program.nothing]
command = ["/no/such/program"]
[[allow]]
type = "fuse"
program = "squashfuse"
source = "$images"
[[allow]]
type = "tmpfs"
TOML
        entry sshfs sshfs "alice@10.87.0.1:$served" store:key
        entry sshfs_wrong sshfs "alice@10.87.0.1:$served" store:wrong_key
        entry sshfs_own sshfs "alice@10.87.0.1:$served" user:key
        entry rclone_smb rclone smb:share/below store:rclone
        entry rclone_sftp rclone "sftp:$served" store:rclone
        entry rclone_wrong rclone smb:share/below store:wrong_rclone
        entry s3fs s3fs bucket store:s3
        entry s3fs_wrong s3fs bucket store:wrong_s3
        entry true true x
        entry nothing nothing x
    } >"$MINISLURM_DIR/batchai.toml"
}

start_servers() {
    local password
    mkdir -m 700 "$MINISLURM_DIR/credentials"
    (umask 077 && head -c 12 /dev/urandom | base64 | tr +/ xy >"$MINISLURM_DIR/password")
    password=$(cat "$MINISLURM_DIR/password")
    mkdir -p "$served/below"
    chmod 777 "$served" "$served/below"
    start_sshd
    start_smb
    start_s3
    rclone_config "$MINISLURM_DIR/credentials/rclone" "$password" "$MINISLURM_DIR/sshd/user"
    rclone_config "$MINISLURM_DIR/credentials/wrong_rclone" wrong "$MINISLURM_DIR/sshd/wrong"
}

# The programs that serve mounts on the nodes, in our process numbers.
daemons() { on_node_named '^/usr/bin/(sshfs|rclone|squashfuse|s3fs) '; }
