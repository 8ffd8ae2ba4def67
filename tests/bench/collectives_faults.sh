#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collectives_faults.sh [ROUNDS] - how long it takes until all other ranks have been told, with the default limits: of a
#                                  rank that is killed or stopped, of a cable that is pulled, of a node that is gone.
#
# Six ranks on three nodes (network namespaces of this machine) reduce without a pause, started by srun. Prints the
# seconds from the fault to the last rank's error, the median and the worst of ROUNDS (default 5) rounds.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

case ${1-} in
    -h | --help) sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
rounds=${1:-5}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || usage "$rounds: not a number of rounds"
check=$build/tests/peers/faults_check
needs_built "$check"
[ -n "${MINISLURM_DIR-}" ] || in_cluster 3 "$rounds"

work=$MINISLURM_DIR/bench
mkdir -p "$work"
cd "$work"

now() { echo "${EPOCHREALTIME/./}"; } # microseconds

# until_said COUNT PATTERN: waits up to two minutes until COUNT lines match.
until_said() {
    local end=$((SECONDS + 120))
    until [ "$(cat out.* 2>/dev/null | grep -c "$2")" -ge "$1" ]; do
        ((SECONDS < end)) || die "waited for '$2'; the last line: $(cat out.* | tail -n 1)"
        sleep 0.01
    done
}

# one_round COUNT FAULT REPAIR: prints how long it takes until COUNT ranks know of the fault.
one_round() {
    rm -f out.*
    timeout 180 srun -Q -N3 --ntasks-per-node=2 --mpi=pmix --kill-on-bad-exit=0 -o "$work/out.%t" "$check" end peer \
        >/dev/null 2>&1 &
    until_said 6 ' reduces$'
    sleep 0.5
    local begin
    begin=$(now)
    eval "$2"
    until_said "$1" '; waiting: '
    echo $(($(now) - begin))
    eval "$3"
    wait || true
}

# measure TITLE COUNT FAULT [REPAIR]
measure() {
    local i
    for ((i = 0; i < rounds; ++i)); do one_round "$2" "$3" "${4-:}"; done >took
    printf '%-34s %8s %8s\n' "$1" "$(median took 1 | awk '{ printf "%.2f", $1 / 1000 }')" \
        "$(sort -n took | tail -n 1 | awk '{ printf "%.2f", $1 / 1e6 }')"
}

on_node() { minislurm exec "$1" "${@:2}"; }
printf '%-34s %8s %8s\n' 'seconds until all others know' median worst
measure 'a rank is killed' 5 'on_node n2 pkill -KILL -x -n faults_check'
measure "a node's first rank is killed" 5 'on_node n2 pkill -KILL -x -o faults_check'
measure 'all ranks of a node are killed' 4 'on_node n2 pkill -KILL -x faults_check'
measure 'a rank is stopped' 5 'on_node n2 pkill -STOP -x -n faults_check' 'on_node n2 pkill -CONT -x faults_check'
measure "a node's first rank is stopped" 5 'on_node n2 pkill -STOP -x -o faults_check' \
    'on_node n2 pkill -CONT -x faults_check'
measure "a node's cable is pulled" 6 'minislurm link n2 down' 'minislurm link n2 up'
measure 'a node is gone' 4 'minislurm link n2 down; on_node n2 pkill -KILL -x faults_check' 'minislurm link n2 up'
