#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# top.sh [--ranks N] [--seconds S] [--rounds R] - what batchai top costs the node of a job.
#
# N ranks (default 8) on this machine make up to 100 allreduces a second, without Slurm. For S seconds (default 20) there
# is no viewer, then for S seconds there is one, R times (default 3). Prints the processor time of the agent and of batchai-launch, in
# percent of a core, and the ranks' steps a second, of each kind the median. Nothing is asserted of the figures.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
ranks=8 seconds=20 rounds=3
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) sed -n '3,8s/^# \{0,1\}//p' "$0" && exit ;;
        --ranks) ranks=${2:?--ranks N} ;;
        --seconds) seconds=${2:?--seconds S} ;;
        --rounds) rounds=${2:?--rounds R} ;;
        *) usage "$1: unknown option" ;;
    esac
    shift 2
done
bin=$build/bin
needs_built "$bin/batchai" "$bin/batchai-launch"
work=$(mktemp -d)
trap 'kill "${launch-}" 2>/dev/null || :; wait || :; rm -rf "$work"' EXIT
export HOME=$work XDG_DATA_HOME=$work/data BATCHAI_POLICY=$work/batchai.toml
mkdir "$work/share"
printf '[[share]]\nshare = "s"\nsource = "%s"\nlogin_path = "%s"\n' "$work/share" "$work/share" >"$BATCHAI_POLICY"
cat >"$work/steps.py" <<'PY'
import os, sys, time
import horovod.torch as hvd
import torch

torch.set_num_threads(1)
hvd.init()
ones = torch.ones(1000)
step = 0
while True:
    time.sleep(0.01)
    hvd.allreduce(ones, name="grad")
    step += 1
    if hvd.rank() == 0:
        with open(sys.argv[1] + ".new", "w") as file:
            file.write("%d\n" % step)
        os.replace(file.name, sys.argv[1])
PY
cat >"$work/job.json" <<JSON
{"properties": {"nodeCount": 1,
    "horovodSettings": {"pythonScriptFilePath": "$work/steps.py", "commandLineArgs": "$work/steps",
        "pythonInterpreterPath": "/usr/bin/python3", "processCount": $ranks},
    "stdOutErrPathPrefix": "\$AZ_BATCHAI_JOB_MOUNT_ROOT/s",
    "mountVolumes": {"azureFileShares": [{"azureFileUrl": "https://a.file.core.windows.net/s", "relativeMountPath": "s"}]}}}
JSON
"$bin/batchai" job run --local -n bench -f "$work/job.json" >"$work/said" 2>&1 &
launch=$!
for ((try = 0; try < 600; try++)); do [ -s "$work/steps" ] && break || sleep 0.2; done
[ -s "$work/steps" ] || die "the ranks take no steps: $(tail -n 1 "$work/said")"
sleep 2

# ticks PATTERN: of the processes of this job whose command line begins so.
ticks() {
    local pid sum=0
    for pid in $(pgrep -f "^$bin/batchai-launch $1"); do
        sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f12,13 | tr ' ' +)))
    done
    echo "$sum"
}

# measure KIND: appends "KIND agent launcher steps" of these seconds.
measure() {
    local agent launcher steps begin=$EPOCHREALTIME
    agent=$(ticks --agent) launcher=$(ticks --local) steps=$(cat "$work/steps")
    sleep "$seconds"
    awk -v kind="$1" -v hz="$(getconf CLK_TCK)" -v begin="$begin" -v end="$EPOCHREALTIME" \
        -v a="$(($(ticks --agent) - agent))" -v l="$(($(ticks --local) - launcher))" -v n="$(($(cat "$work/steps") - steps))" \
        'BEGIN { s = end - begin; printf "%s %.2f %.2f %.1f\n", kind, 100 * a / hz / s, 100 * l / hz / s, n / s }' >>"$work/figures"
}

for ((round = 0; round < rounds; round++)); do
    measure without
    "$bin/batchai-launch" --attach "$(ls "$work"/data/batchai/jobs/*/view)" >/dev/null &
    viewer=$!
    sleep 1
    measure with
    kill "$viewer"
    wait "$viewer" 2>/dev/null || :
    sleep 4 # the agent notices that the viewer has gone
done

median() { awk -v kind="$1" -v column="$2" '$1 == kind { print $column }' "$work/figures" | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
printf '%-16s %10s %14s %14s\n' viewer 'agent, %' 'launcher, %' 'steps/s'
for kind in without with; do
    printf '%-16s %10s %14s %14s\n' "$kind" "$(median $kind 2)" "$(median $kind 3)" "$(median $kind 4)"
done
