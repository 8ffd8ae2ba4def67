# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables and die are contrib/minislurm's
#
# minislurm link, kill and exec: commands for the nodes of a running cluster. Any user on the login node that
# may enter the nodes' namespaces can run them, but not from inside a node.

# Prints the process number of a node's process 1.
node_pid() {
    local all="${MINISLURM_DIR-/nowhere}/node"
    [ -d "$all" ] || die 64 "not inside a cluster: start one with minislurm -- COMMAND"
    [ -n "$1" ] || die 64 "which node? see minislurm --help"
    [ -d "$all/$1" ] || die 64 "$1: no such node: nodes are $(cd "$all" && echo *)"
    [ -f "$all/$1/pid" ] || die 69 "$1: the node is dead"
    cat "$all/$1/pid"
}

cmd_exec() {
    local pid
    pid=$(node_pid "${1-}")
    [ $# -ge 2 ] || die 64 "exec: which command? see minislurm --help"
    # shellcheck disable=SC2016 # expanded by the shell on the node
    exec nsenter --target "$pid" --mount --uts --ipc --net --pid -- \
        sh -c 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$PWD" "${@:2}"
}

cmd_kill() {
    local pid
    pid=$(node_pid "${1-}")
    [ $# -eq 1 ] || die 64 "kill: one node, please; see minislurm --help"
    kill -KILL "$pid" 2>/dev/null || die 69 "$1: not permitted to kill the node"
    rm "$MINISLURM_DIR/node/$1/pid"
    while [ -d "/proc/$pid" ]; do sleep 0.01; done # gone only when all its processes are
}

cmd_link() {
    local pid node=${1-}
    pid=$(node_pid "$node")
    local on_node=(nsenter --target "$pid" --net)
    case ${2-}:$# in
        down:2) ip link set "link-$node" down ;;
        up:2)
            tc qdisc del dev "link-$node" root 2>/dev/null || true
            "${on_node[@]}" tc qdisc del dev eth0 root 2>/dev/null || true
            ip link set "link-$node" up
            ;;
        rate:3 | rate:5)
            local burst=${5-32kb}
            [[ ${3,,} =~ ^[0-9]+([kmg]?)(bit|bps)$ ]] || die 64 "link: $3: not a rate such as 100mbit"
            [[ ${4-burst} = burst && $burst =~ ^[1-9][0-9]{1,4}kb$ ]] || die 64 "link: ${*:4}: not a burst of at least 10kb, such as 'burst 72kb'"
            local limit=(root tbf rate "$3" burst "$burst" latency 50ms)
            tc qdisc replace dev "link-$node" "${limit[@]}"
            "${on_node[@]}" tc qdisc replace dev eth0 "${limit[@]}"
            ;;
        *) die 64 "link: NODE rate RATE [burst SIZE], NODE down or NODE up; see minislurm --help" ;;
    esac
}
