# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# File servers on the login node, for jobs' network mounts: an NFS export (3 and 4.2) and an SMB share. They
# run in the foreground with all their files below $MINISLURM_DIR, where they end with the cluster,
# and are ended and started anew by the tests. The clients are the kernel's: `# guest: yes`.

server=10.87.0.1
password=n33dle.7f3a91c2 # alice's; in no argument of a test's program
export_dir=$MINISLURM_DIR/servers/export # 10.87.0.1:/export
smb_dir=$MINISLURM_DIR/servers/share     # //10.87.0.1/share, on port 1445, as alice
nfs=$MINISLURM_DIR/servers/nfs
smb=$MINISLURM_DIR/servers/smb

# start_daemon PID_FILE COMMAND...: without the open files of bats, which waits for their end.
start_daemon() {
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            ((fd < 3)) || eval "exec $fd>&-"
        done
        exec "${@:2}"
    ) </dev/null >/dev/null 2>&1 &
    echo $! >"$1"
    disown # bash need not announce its end
}

# stop_daemon PID_FILE [SIGNAL]
stop_daemon() {
    local pid
    pid=$(cat "$1")
    kill "-${2-KILL}" "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

# port_is_open PORT
port_is_open() { timeout 5 bash -c "exec 9<>/dev/tcp/$server/$1" 2>/dev/null; }

# start_nfs [locks]: with "locks", NFS 3 has locks too (NLM). Then no client can be on the login node.
start_nfs() {
    local nlm=false
    mkdir -p "$export_dir" "$nfs"
    port_is_open 111 || start_daemon "$nfs/rpcbind.pid" rpcbind -f -i # NFS 3 is found through it
    eventually port_is_open 111
    if [ "${1-}" = locks ]; then
        nlm=true
        mkdir -p "$nfs/statd"/{sm,sm.bak}
        start_daemon "$nfs/statd.pid" rpc.statd -F --no-notify -P "$nfs/statd"
    fi
    chmod 777 "$export_dir"
    cat >"$nfs/conf" <<CONF
NFS_CORE_PARAM { Protocols = 3, 4; Mount_Path_Pseudo = true; Enable_NLM = $nlm; Enable_RQUOTA = false; }
NFSV4 { Graceless = true; Only_Numeric_Owners = true; RecoveryRoot = "$nfs"; }
EXPORT {
    Export_Id = 1; Path = "$export_dir"; Pseudo = "/export"; Access_Type = RW;
    Squash = No_Root_Squash; SecType = sys; Protocols = 3, 4; Transports = TCP; FSAL { Name = VFS; }
}
CONF
    start_daemon "$nfs/pid" ganesha.nfsd -F -f "$nfs/conf" -L "$nfs/log" -p "$nfs/ganesha.pid" -N NIV_EVENT
    eventually port_is_open 2049
}

# start_statd_of NODE: what the node's kernel needs for locks of NFS 3. The programs are in the node's network only.
start_statd_of() {
    local directory=$nfs/$1 pid
    mkdir -p "$directory/statd"/{sm,sm.bak}
    pid=$(cat "$MINISLURM_DIR/node/$1/pid")
    # shellcheck disable=SC2016 # expanded by that shell
    start_daemon "$directory/pid" nsenter --target "$pid" --net unshare --mount --pid --fork --kill-child sh -c '
        mount --bind "$0" /run
        rpcbind -f -i &
        until rpcinfo -p >/dev/null 2>&1; do sleep 0.2; done
        rpc.statd --no-notify -P /run/statd
        touch /run/up
        exec sleep infinity' "$directory"
    eventually test -e "$directory/up"
}
stop_statd_of() {
    [ ! -e "$nfs/$1/pid" ] || stop_daemon "$nfs/$1/pid"
    rm -rf "${nfs:?}/$1"
}

start_smb() {
    mkdir -p "$smb_dir" "$smb"/{private,lock,state,cache,run,ncalrpc}
    chown alice "$smb_dir"
    cat >"$smb/conf" <<CONF
[global]
server role = standalone
passdb backend = tdbsam:$smb/private/passdb.tdb
private directory = $smb/private
lock directory = $smb/lock
state directory = $smb/state
cache directory = $smb/cache
pid directory = $smb/run
ncalrpc dir = $smb/ncalrpc
log file = $smb/log
smb ports = 1445
disable netbios = yes
load printers = no
printing = bsd
printcap name = /dev/null
[share]
path = $smb_dir
read only = no
CONF
    [ -e "$smb/private/passdb.tdb" ] || printf "%s\n%s\n" "$password" "$password" | smbpasswd -c "$smb/conf" -s -a alice >/dev/null
    start_daemon "$smb/pid" smbd --foreground --configfile="$smb/conf"
    eventually port_is_open 1445
}

stop_nfs() { stop_daemon "$nfs/pid" "$@"; }
stop_smb() { stop_daemon "$smb/pid" "$@"; }
