# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables and die are contrib/minislurm's
#
# A node's process 1: gives the node its name, address and own directories, and starts slurmd.

# own_directory DIRECTORY MODE [SHARED]...: an empty tmpfs of this node; the SHARED directories
# below it stay what they were.
own_directory() {
    local directory=$1 mode=$2 path fd fds=()
    shift 2
    for path in "$@"; do
        exec {fd}<"$path"
        fds+=("$fd")
    done
    mount -t tmpfs -o "mode=$mode" tmpfs "$directory"
    for path in "$@"; do
        fd=${fds[0]} fds=("${fds[@]:1}")
        mkdir -p "$path"
        mount --no-canonicalize --rbind "/proc/self/fd/$fd" "$path"
        exec {fd}<&-
    done
}

run_node() {
    local i=$1 pid path shared=()
    read -r pid _ </proc/self/stat # still the cluster's /proc: our number there
    echo "n$i $pid" >"$dir/state/up"
    read -r _ # plugged in
    exec </dev/null
    mount -t proc proc /proc
    hostname "n$i"
    for path in "$PWD" "${self%/*/*}"; do
        [[ $path != /tmp/* ]] || shared+=("$path")
    done
    own_directory /tmp 1777 "${shared[@]}"
    own_directory /dev/shm 1777
    own_directory /run 755 "$dir" /run/munge
    cd "$PWD" 2>/dev/null || cd / # again: below /tmp it is another directory now
    ip -batch - <<IP
link set lo up
addr add 10.87.0.$((10 + i))/24 dev eth0
link set eth0 up
IP
    slurmd -N "n$i" || touch "$dir/state/failed"
    # Process 1 of a namespace: its end is the node's end, and it collects orphans.
    while true; do sleep infinity || true; done
}
