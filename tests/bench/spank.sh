#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# spank.sh [--json FILE] [--jobs N] - what the plugin costs a job: the time of `srun true`, on one node.
#
# N jobs (default 200) of each kind, in turn, in one throw-away Slurm; each job times its first step and
# the one after it:
#   without   plugstack.conf has no line of ours
#   unused    it has, and the job asks for nothing
#   mounts    the job has two mounts, a directory and a tmpfs, and no preparation
# A step that fails, or that lacks the job's mounts, ends the benchmark without a figure.
# Prints the medians and their differences; --json FILE also writes rows of {case, median_ms}, of which
# "without" and "unused" are the second step's.
#
# Bound: a step cannot start before slurmstepd has answered srun; ours adds one read of a state file to
# every step of a job with mounts, and to the first a namespace and two mounts.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

json='' jobs=200
while [ $# -gt 0 ]; do
    case $1 in
        --json) json=$(realpath -m "${2:?--json FILE}") && shift 2 ;;
        --jobs) jobs=${2:?--jobs N} && shift 2 ;;
        --inside) break ;; # used by this script itself: on the login node
        -h | --help) sed -n '3,16s/^# \{0,1\}//p' "$0" && exit ;;
        *) usage "$1: unknown option" ;;
    esac
done
[[ $jobs =~ ^[1-9][0-9]{0,4}$ ]] || usage "--jobs $jobs: expected 1 to 99999"

[ "${1-}" = --inside ] || {
    needs_plugin
    in_cluster 1 --jobs "$jobs" --inside "$json"
}
json=$2

# ---- on the login node ---------------------------------------------------------------------------

make_site

# Inside a job: microseconds of its first step and of the next; then, not timed, whether its mounts are there.
# shellcheck disable=SC2016 # for the job's shell
steps='for step in 1 2; do
    begin=${EPOCHREALTIME/./}
    srun true || exit
    took[step]=$((${EPOCHREALTIME/./} - begin))
done
[ "$1" != mounts ] || srun sh -c "mountpoint -q \$AZ_BATCHAI_JOB_MOUNT_ROOT/data" || exit
echo "${took[@]}"'

# job KIND [SALLOC_OPTION]...: adds "FIRST LATER" to the kind's file.
job() {
    timeout 60 salloc --quiet -N 1 "${@:2}" bash -c "$steps" steps "$1" >>"$work/$1" 2>"$work/said" ||
        die "a job of the kind '$1' failed: $(head -n 1 "$work/said")"
}

for ((n = -2; n < jobs; ++n)); do
    [ $n != 0 ] || rm -f "$work"/{without,unused,mounts} # the first ones warm up
    [ ! -t 2 ] || printf '\r%d of %d jobs of each kind' $((n < 0 ? 0 : n)) "$jobs" >&2
    : >"$plugstack"
    job without
    echo "$line" >"$plugstack"
    job unused
    job mounts --batchai-mount="$work/data:data,tmpfs:scratch"
done
[ ! -t 2 ] || printf '\r\033[K' >&2

printf 'srun true, ms: medians of %d jobs each on one node, %s cores\n\n' "$jobs" "$(nproc)"
printf '%-8s %12s %12s %16s %16s\n' '' 'first step' 'later step' 'first: added' 'later: added'
for kind in without unused mounts; do
    first=$(median "$work/$kind" 1) later=$(median "$work/$kind" 2)
    [ $kind != without ] || first_without=$first later_without=$later
    awk -v k=$kind -v f="$first" -v l="$later" -v fw="$first_without" -v lw="$later_without" \
        'BEGIN { printf "%-8s %12.2f %12.2f %+16.2f %+16.2f\n", k, f, l, f - fw, l - lw }'
done

[ -z "$json" ] || for case in without:without:2 unused:unused:2 mounts_first:mounts:1 mounts_later:mounts:2; do
    IFS=: read -r name kind column <<<"$case"
    printf '{"case": "%s", "median_ms": %s}\n' "$name" "$(median "$work/$kind" "$column")"
done | sed '1s/^/[/; $!s/$/,/; $s/$/]/' >"$json"
