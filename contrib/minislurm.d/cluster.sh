# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables and die are contrib/minislurm's
#
# The login node's process 1: configures and starts the cluster, then runs the command. When it ends,
# everything ends.

write_slurm_conf() {
    local user builtin key gres=
    user=$(id -un)
    if ((gpus > 0)); then # Slurm wants character devices; a bind mount of /dev/null is one
        local g
        for ((g = 0; g < gpus; g++)); do
            touch "$dir/dev/gpu$g"
            mount --bind /dev/null "$dir/dev/gpu$g"
        done
        echo "Name=gpu File=$dir/dev/gpu[0-$((gpus - 1))]" >"$dir/etc/gres.conf"
        gres="Gres=gpu:$gpus"
    fi
    builtin="ClusterName=mini
SlurmctldHost=ctl(10.87.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/node/%n/spool
TmpFS=/tmp
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/node/%n/slurmd.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=2
KillWait=4
SlurmdTimeout=30
GresTypes=gpu
NodeName=n[1-$nodes] NodeAddr=10.87.0.[11-$((10 + nodes))] CPUs=8 RealMemory=16000 $gres
PartitionName=mini Nodes=ALL Default=YES OverSubscribe=FORCE:8"
    local line
    for line in "${conf_lines[@]}"; do
        key=${line%%=*}
        builtin=$(grep -vi "^$key=" <<<"$builtin")
    done
    printf '%s\n' "$builtin" "${conf_lines[@]}" >"$dir/etc/slurm.conf"
    cp "$dir/etc/slurm.conf" "$dir/log/"
    printf '%s\n' "${plugstack[@]}" >"$dir/etc/plugstack.conf"
    [ ${#cgroup_lines[@]} -eq 0 ] || printf '%s\n' "${cgroup_lines[@]}" >"$dir/etc/cgroup.conf"
}

# Private copies of /etc/passwd and /etc/group: as root with alice and bob, else with ourselves.
add_users() {
    local name id users=("alice:2001" "bob:2002")
    [ "$(id -u)" = 0 ] || users=("$(id -un 2>/dev/null || echo me):$(id -u)")
    cp /etc/passwd /etc/group "$dir/etc/"
    for name in "${users[@]}"; do
        id=${name#*:} name=${name%:*}
        mkdir -m 700 "$dir/home/$name"
        [ "$(id -u)" != 0 ] || chown "$id:$id" "$dir/home/$name"
        ! getent passwd "$name" >/dev/null || continue
        # Without "x", which has newer PAM look for a password in a file that does not have the user, so that su fails.
        echo "$name:*:$id:$id::$dir/home/$name:/bin/bash" >>"$dir/etc/passwd"
        getent group "$id" >/dev/null || echo "$name:x:$id:" >>"$dir/etc/group"
    done
    mount --bind "$dir/etc/passwd" /etc/passwd
    mount --bind "$dir/etc/group" /etc/group
}

# One bridge is the cluster's network. (A namespace with only 127.0.0.1 does not work at all:
# glibc's AI_ADDRCONFIG then resolves no IPv4 name and every daemon retries for seconds.)
make_network() {
    local i
    hostname ctl
    ip -batch - <<'IP'
link set lo up
link add br0 type bridge
addr add 10.87.0.1/24 dev br0
link set br0 up
IP
    {
        printf '127.0.0.1 localhost\n10.87.0.1 ctl\n'
        for ((i = 1; i <= nodes; i++)); do echo "10.87.0.$((10 + i)) n$i"; done
    } >"$dir/etc/hosts"
    mount --bind "$dir/etc/hosts" /etc/hosts
}

start_munge() {
    (umask 077 && head -c 128 /dev/urandom >"$dir/etc/munge.key")
    munged --force --key-file="$dir/etc/munge.key" --seed-file="$dir/state/munge.seed" \
        --pid-file=/run/munge/munged.pid --log-file="$dir/log/munged.log" >"$dir/log/munged.out" 2>&1
}

# Boots all nodes at once, out of Ctrl-C's reach; each announces its process number, gets its cable
# and goes on.
start_nodes() {
    local i node pid
    mkfifo "$dir/state/up"
    exec 7<>"$dir/state/up"
    for ((i = 1; i <= nodes; i++)); do
        node=n$i
        mkdir -p "$dir/node/$node/spool"
        mkfifo "$dir/node/$node/plugged"
        setsid unshare --mount --uts --ipc --net --pid --fork --kill-child "$self" @node "$i" \
            0<>"$dir/node/$node/plugged" >"$dir/log/boot-$node.log" 2>&1 7<&- &
        disown # or bash would announce its end
    done
    for ((i = 1; i <= nodes; i++)); do
        read -t 30 -r node pid <&7 || return
        echo "$pid" >"$dir/node/$node/pid"
        ip link add "link-$node" mtu "$mtu" type veth peer name eth0 mtu "$mtu" netns "$pid" || return
        ip link set "link-$node" master br0 up || return
        echo plugged >"$dir/node/$node/plugged"
    done
    exec 7<&-
}

wait_for_nodes() {
    local end=$((SECONDS + 30))
    until [ "$(timeout 10 sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; do
        if ((SECONDS >= end)) || [ -e "$dir/state/failed" ]; then return 1; fi
        sleep 0.05
    done
}

# not_up LOGFILE...: says why the cluster did not come up.
not_up() {
    tail -q -n 4 "$@" >&2
    die 69 "the cluster did not come up; the last lines of the daemons' logs are above"
}

# make_private PARENT: from here on, mounts and /proc are the cluster's own.
make_private() {
    local key value
    # /proc is still the host's: if our parent has ended already, no process would ever end us.
    while read -r key value && [ "$key" != PPid: ]; do :; done </proc/self/status
    [ "$value" = "$1" ] || exit 69
    [ -z "$keep" ] || keep=$(readlink -f "$keep")
    mount -t proc proc /proc
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -p /run/munge "$dir"/{etc,log,state,dev,home,node}
    [ -z "$keep" ] || mount --bind "$keep" "$dir/log"
    # Variables of a Slurm job that may have started us.
    unset "${!SLURM_@}" "${!SBATCH_@}" "${!SALLOC_@}" "${!PMIX_@}" "${!PMI_@}"
    export SLURM_CONF=$dir/etc/slurm.conf MINISLURM_DIR=$dir PATH
}

# Runs the command, by default a shell, and ends with its exit code.
run_command() {
    local code=0
    if [ ${#command[@]} -eq 0 ]; then
        command=("${SHELL:-/bin/bash}")
        [ ! -t 0 ] || cat <<TEXT
A Slurm cluster of $nodes nodes with $gpus GPUs each: try sinfo, or srun -N $nodes hostname.
Leave with exit; nothing remains of it. minislurm --help has commands for its nodes.
TEXT
    fi
    trap : INT # the command has it too and decides
    env -- "${command[@]}" || code=$?
    exit "$code"
}

# run_cluster PARENT OPTION...
run_cluster() {
    trap 'exit 130' INT # process 1 has no default action
    parse "${@:2}"
    make_private "$1"
    add_users
    make_network
    write_slurm_conf
    start_munge || not_up "$dir/log/munged.out"
    slurmctld -i >"$dir/log/slurmctld.out" 2>&1 || not_up "$dir/log/slurmctld.out"
    { start_nodes && wait_for_nodes; } || not_up "$dir"/log/{slurmctld,boot-*,slurmd-*}.log
    run_command
}
