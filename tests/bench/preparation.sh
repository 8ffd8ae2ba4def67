#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# preparation.sh [--json FILE] [--jobs N] [--nodes N] - what preparing all nodes adds to a job's start.
#
# N jobs (default 20) of each kind, in turn, in one throw-away Slurm of N nodes (default 4), with
# PrologFlags=Contain. Timed is how long after slurmd has taken the job its script starts:
#   without   plugstack.conf has no line of ours
#   prepared  the job has two mounts and a preparation command, `true`, on every node
# and, in the same scripts, one `srun true` over all nodes. A job that fails ends the benchmark without a
# figure. Prints the medians, and the time that preparing adds in units of that step; --json FILE also writes
# rows of {case, median_ms}.
#
# Bound: the nodes are prepared by one step over all of them, which must end before the script starts:
# one `srun true` and, at once on all nodes, a namespace, two mounts and a shell.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

json='' jobs=20 nodes=4
while [ $# -gt 0 ]; do
    case $1 in
        --json) json=$(realpath -m "${2:?--json FILE}") && shift 2 ;;
        --jobs) jobs=${2:?--jobs N} && shift 2 ;;
        --nodes) nodes=${2:?--nodes N} && shift 2 ;;
        --inside) break ;; # used by this script itself: on the login node
        -h | --help) sed -n '3,15s/^# \{0,1\}//p' "$0" && exit ;;
        *) usage "$1: unknown option" ;;
    esac
done
[[ $jobs =~ ^[1-9][0-9]{0,3}$ ]] || usage "--jobs $jobs: expected 1 to 9999"
[[ $nodes =~ ^[1-9][0-9]?$ ]] || usage "--nodes $nodes: expected 1 to 99"

[ "${1-}" = --inside ] || {
    needs_plugin
    slurm_conf=PrologFlags=Contain # as the administrator's guide recommends
    in_cluster "$nodes" --jobs "$jobs" --nodes "$nodes" --inside "$json"
}
json=$2

# ---- on the login node ---------------------------------------------------------------------------

make_site
cat >"$work/script" <<'SCRIPT'
#!/bin/bash
started=$EPOCHREALTIME
srun true || exit
echo "$started $EPOCHREALTIME" >"$1.new"
[ -z "$2" ] || mountpoint -q "$AZ_BATCHAI_JOB_MOUNT_ROOT/$2" || exit
mv "$1.new" "$1"
SCRIPT

# is_over JOB: asked once a second only, so that slurmctld is not kept busy.
is_over() { ! squeue -h -j "$1" -o %T 2>/dev/null | grep -qE 'PENDING|CONFIGURING|RUNNING|COMPLETING'; }

# job KIND MOUNT [SBATCH_OPTION]...: adds "START STEP", in microseconds, to the kind's file. The job must have the mount.
job() {
    local number launched started ended tries
    rm -f "$work/times"
    number=$(timeout 30 sbatch --parsable -N "$nodes" -o "$work/out" "${@:3}" "$work/script" "$work/times" "$2")
    for ((tries = 1; ; ++tries)); do
        [ ! -e "$work/times" ] || break
        ((tries % 50)) || ! is_over "$number" || [ -e "$work/times" ] ||
            die "a job of the kind '$1' failed: $(grep . "$work/out" | head -n 1)"
        ((tries < 3000)) || die "job $number has not ended: $(head -n 1 "$work/out")"
        sleep 0.02
    done
    launched=$(sed -n "s/^\[\([^]]*\)\] Launching batch job $number .*/\1/p" "$MINISLURM_DIR/log/slurmd-n1.log")
    [ -n "$launched" ] || die "slurmd's log does not say when job $number was launched"
    read -r started ended <"$work/times"
    echo $((${started/./} - $(date -d "$launched" +%s%6N))) $((${ended/./} - ${started/./})) >>"$work/$1"
}

for ((n = -1; n < jobs; ++n)); do
    [ $n != 0 ] || rm -f "$work"/{without,prepared} # the first ones warm up
    [ ! -t 2 ] || printf '\r%d of %d jobs of each kind' $((n < 0 ? 0 : n)) "$jobs" >&2
    : >"$plugstack"
    job without ''
    echo "$line" >"$plugstack"
    job prepared data --batchai-mount="$work/data:data,tmpfs:scratch" --batchai-prep=true --batchai-output="$work"
done
[ ! -t 2 ] || printf '\r\033[K' >&2

without=$(median "$work/without" 1) prepared=$(median "$work/prepared" 1) step=$(median "$work/without" 2)
printf 'start of a job on %d nodes, ms: medians of %d jobs each, %s cores\n\n' "$nodes" "$jobs" "$(nproc)"
awk -v w="$without" -v p="$prepared" -v s="$step" 'BEGIN {
    printf "until the script starts, without   %10.2f\n", w
    printf "until the script starts, prepared  %10.2f\n", p
    printf "one srun true over all nodes       %10.2f\n\n", s
    printf "preparing adds %.2f x one srun true\n", (p - w) / s }'

[ -z "$json" ] || printf '[{"case": "start_without", "median_ms": %s},\n{"case": "start_prepared", "median_ms": %s},\n{"case": "srun_true", "median_ms": %s}]\n' \
    "$without" "$prepared" "$step" >"$json"
