#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scale.sh [--json FILE] [--runs N] [--most AGENTS] - what batchai-launch takes for many agents, on this machine.
#
# N runs (default 5) each, medians: jobs of 1 to 64 agents (or as many as --most: 4, 16, 64 or 256), each a process of its
# own as on a node of its own, with 1 to 16 ranks, without Slurm:
#   start   from batchai-launch to its end, the ranks being `true`
#   root    processor time of batchai-launch itself, the root, until all ranks run
#   fence   a PMIx fence of all ranks that carries nothing
#   data    the same with 1,000 bytes of each rank, with --radix 2, 4 and 256 (no tree)
# Then a model of the root's time for each agent, from the smallest and the largest of the shapes up to 64 agents. It is
# checked against the others and applied to more agents. Then what the model of the tree predicts for fences. --json FILE
# also writes rows of {agents, ranks, start_ms, root_ms, fence_ms, data_ms}. A launch that fails ends the benchmark.
#
# All agents and ranks share this machine's cores. So start and fence are the sum of their work, more than on nodes of
# their own. The root's processor time would be the same there.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

json='' runs=5 most=64
while [ $# -gt 0 ]; do
    case $1 in
        --json) json=$(realpath -m "${2:?--json FILE}") && shift 2 ;;
        --runs) runs=${2:?--runs N} && shift 2 ;;
        --most) most=${2:?--most AGENTS} && shift 2 ;;
        -h | --help) sed -n '3,16s/^# \{0,1\}//p' "$0" && exit ;;
        *) usage "$1: unknown option" ;;
    esac
done
[[ $runs =~ ^[1-9][0-9]{0,2}$ ]] || usage "--runs $runs: expected 1 to 999"
[[ $most =~ ^(4|16|64|256)$ ]] || usage "--most $most: expected 4, 16, 64 or 256"
launcher=$build/bin/batchai-launch
needs_built "$launcher"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra pmix <<<"$(pkg-config --cflags --libs pmix)"
cc -O1 "$source/tests/peers/pmix_check.c" -o "$work/check" "${pmix[@]}"

# launch ARGUMENT...: its output is in $work/out.
launch() {
    timeout -k 1 120 "$launcher" --local "$agents" --ranks-per-node "$((ranks / agents))" "$@" </dev/null >"$work/out" 2>&1 ||
        die "batchai-launch $*, $agents agents, $ranks ranks: exit code $?: $(head -n 1 "$work/out")"
}

middle() { # WHAT: the median of the runs
    [ "$(grep -c . "$work/$1")" = "$runs" ] || die "$1: $(grep -c . "$work/$1") of $runs runs have a figure"
    sort -n "$work/$1" | awk '{ v[NR] = $1 } END { printf "%.2f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

start() {
    local begin=${EPOCHREALTIME/./}
    launch true
    echo "$begin ${EPOCHREALTIME/./}" | awk '{ print ($2 - $1) / 1000 }'
}

# The root's time on a processor, in ms, once as many processes as there are ranks sleep for so long.
root() {
    local long=60.$RANDOM root tries
    "$launcher" --local "$agents" --ranks-per-node "$((ranks / agents))" sleep $long </dev/null 2>"$work/out" &
    root=$!
    for ((tries = 0; tries < 600; ++tries)); do
        [ "$(pgrep -fxc "sleep $long")" -lt "$ranks" ] || break
        kill -0 $root 2>/dev/null || die "batchai-launch sleep, $agents agents: ended: $(head -n 1 "$work/out")"
        sleep 0.05
    done
    ((tries < 600)) || die "batchai-launch sleep, $agents agents: not all of $ranks ranks have started"
    awk '{ print $1 / 1e6 }' "/proc/$root/schedstat"
    kill "$root"
    wait "$root" 2>/dev/null || true
}

fence() {
    launch "$@"
    sed -n 's/^a fence of .*: \(.*\) ms$/\1/p' "$work/out"
}

for shape in 1x1 4x4 16x16 64x64 16x256 64x256 256x1024; do
    agents=${shape%x*} ranks=${shape#*x}
    [ "$agents" -le "$most" ] || continue
    for what in start root fence radix2 radix4 radix256; do : >"$work/$what"; done
    for ((n = 0; n < runs; ++n)); do
        start >>"$work/start"
        root >>"$work/root"
        fence "$work/check" fences 20 0 >>"$work/fence"
        for radix in 2 4 256; do fence --radix $radix "$work/check" fences 5 1000 >>"$work/radix$radix"; done
    done
    row=("$agents" "$ranks")
    for what in start root fence radix2 radix4 radix256; do
        figure=$(middle $what)
        row+=("$figure")
    done
    [ -e "$work/rows" ] || printf '%d runs each, %s cores, ms\n\n%6s %6s %9s %9s %9s   %s\n' "$runs" "$(nproc)" \
        agents ranks start root fence 'data, radix 2, 4 and none'
    printf '%6d %6d %9s %9s %9s   %s %s %s\n' "${row[@]}"
    echo "${row[@]}" >>"$work/rows"
done

awk '{ root[NR] = $4; agents[NR] = $1; ranks[NR] = $2; if ($1 <= 64) last = NR }
END {
    each = (root[last] - root[1]) / (agents[last] - agents[1])
    base = root[1] - each * agents[1]
    printf "\nthe root: %.2f ms, and %.3f ms for each agent\n", base, each
    for (i = 2; i <= NR; ++i)
        if (i != last)
            printf "  %4d agents, %5d ranks: %8.2f ms, measured %.2f\n", agents[i], ranks[i], base + each * agents[i], root[i]
    for (n = agents[NR] < 256 ? 256 : 1024; n <= 4096; n *= 4) printf "  %4d agents: %8.2f ms, not measured\n", n, base + each * n
}' "$work/rows"

# launcher/common/tree.hpp has the formula.
awk 'function tree(n, k, bytes) {
    d = 0
    for (below = 1; below < n; below *= k) ++d
    return 2 * d * alpha + beta * (bytes + k * (bytes + d * 262144))
}
BEGIN {
    alpha = 0.05; beta = 1e-6 # ms: assumed
    printf "\na fence, 8 ranks of each node giving 1,000 bytes, at 50 us a hop and 1 ns a byte, ms: not measured\n"
    printf "%8s %10s %10s %10s\n", "nodes", "no tree", "radix 4", "radix 2"
    for (n = 64; n <= 4096; n *= 4)
        printf "%8d %10.1f %10.1f %10.1f\n", n, 2 * alpha + beta * (n + 1) * n * 8000, tree(n, 4, n * 8000), tree(n, 2, n * 8000)
}'

[ -z "$json" ] || jq -Rn '[inputs | split(" ") | map(tonumber) | {agents: .[0], ranks: .[1], start_ms: .[2], root_ms: .[3],
    fence_ms: .[4], data_ms: {"2": .[5], "4": .[6], "256": .[7]}}]' "$work/rows" >"$json"
