#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# launch.sh [--json FILE] [--runs N] [--program NAME] [--launchers NAME,...] - how long launchers take.
#
# Programs that do next to nothing, N runs (default 11) each, in turn, in one throw-away Slurm of 4 nodes, from the
# launcher's start to its end. `true` and MPI programs (init, barrier, finalize), 8 and 32 ranks over 4 nodes and 8 on one:
#   program    started by
#   true       batchai-launch, srun-none and all launchers below
#   mpi        Open MPI's, as installed: batchai-launch, srun-pmix (srun --mpi=pmix), mpirun; MPICH's: mpiexec
#   openmpi5   Open MPI 5's: batchai-launch, mpirun5, prterun
#   mpich5     MPICH 5's: batchai-launch, mpiexec5
#   impi       MPICH 5's with Intel MPI's library, which has no compiler: batchai-launch, mpiexec-impi
# A run of a peer that does not end well within 15 s, or 30 s with MPI, is a failure, counted and not timed; one of ours
# ends the benchmark without a figure. Then, without Slurm, 8 x `true` on one node against a shell's fork and exec, and
# the memory of agents of 1,024 ranks.
# Prints medians, ours in units of the peer's, and the goal for it; a row in which ours is more than 5 % behind says
# BEHIND. --json FILE also writes rows of {program, nodes, ranks, launcher, median_ms, failures}. A peer that is not
# installed has none; tests/peers/environments.sh fetches the newest ones. --program, --launchers: only these, and
# always ours.
#
# Bound: nodes and ranks share this machine's cores, so what counts here is work, not waiting.
set -euo pipefail
# shellcheck source=tests/bench/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

json='' runs=11 programs='true mpi openmpi5 mpich5 impi' only=''
while [ $# -gt 0 ]; do
    case $1 in
        --json) json=$(realpath -m "${2:?--json FILE}") && shift 2 ;;
        --runs) runs=${2:?--runs N} && shift 2 ;;
        --program) programs=${2:?--program NAME} && shift 2 ;;
        --launchers) only=${2:?--launchers NAME,...} && shift 2 ;;
        --inside | --allocated) break ;; # used by this script itself: on the login node, in an allocation there
        -h | --help) sed -n '3,21s/^# \{0,1\}//p' "$0" && exit ;;
        *) usage "$1: unknown option" ;;
    esac
done
[[ $runs =~ ^[1-9][0-9]{0,3}$ ]] || usage "--runs $runs: expected 1 to 9999"
[[ $programs =~ ^(true|mpi|openmpi5|mpich5|impi|true mpi openmpi5 mpich5 impi)$ ]] ||
    usage "--program $programs: expected true, mpi, openmpi5, mpich5 or impi"

# Which launchers start which program.
declare -A launchers=(
    [true]='batchai-launch srun-none srun-pmix mpirun mpiexec mpirun5 prterun mpiexec5 mpiexec-impi'
    [mpi]='batchai-launch srun-pmix mpirun mpiexec'
    [openmpi5]='batchai-launch mpirun5 prterun'
    [mpich5]='batchai-launch mpiexec5'
    [impi]='batchai-launch mpiexec-impi'
)
for name in ${only//,/ }; do
    [[ " ${launchers[*]} " = *" $name "* ]] || usage "--launchers $name: expected some of${launchers[true]#batchai-launch}"
done

launcher=$build/bin/batchai-launch
if [ $# = 0 ]; then
    needs_built "$launcher"
    in_cluster 4 --runs "$runs" --program "$programs" ${only:+--launchers "$only"} --inside "$json"
fi

# ---- on the login node ---------------------------------------------------------------------------

work=$MINISLURM_DIR/bench peers=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}
# Whether the launcher is among those of --launchers.
chosen() { [ -z "$only" ] || [ "$1" = batchai-launch ] || [[ ,$only, = *",$1,"* ]]; }

# once CASE COMMAND...: runs it for at most 15 s, MPI programs for 30 s. Adds to the case's file how long it took, in
# microseconds; or to .failed why not, where it is a peer's.
once() {
    local begin=${EPOCHREALTIME/./} code=0 limit=30 said
    [[ $1 != true.* ]] || limit=15
    { timeout -k 1 $limit "${@:2}" >"$work/out" 2>&1 </dev/null; } 2>/dev/null || code=$?
    if [ $code = 0 ]; then
        echo $((${EPOCHREALTIME/./} - begin)) >>"$work/$round/$1"
    else
        said=$(grep -m 1 -v '^-*$' "$work/out") || said='nothing said'
        [[ $1 = *.@(srun-*|mpirun*|mpiexec*|prterun) ]] || die "$1: exit code $code: $said"
        echo "${1##*.}: exit code $code: $said" >>"$work/$round/$1.failed"
        end_steps
    fi
}

# What a launcher that was killed may have left on the nodes.
end_steps() {
    local tries steps
    [ -n "${SLURM_JOB_ID-}" ] || return 0
    for ((tries = 0; tries < 100; ++tries)); do
        readarray -t steps < <(squeue -h -s -j "$SLURM_JOB_ID" -o %i)
        [ ${#steps[@]} != 0 ] || return 0
        ((tries % 20)) || scancel "${steps[@]}" 2>/dev/null || true # some have just ended
        sleep 0.1
    done
    die "steps do not end: ${steps[*]}"
}

# launch LAUNCHER PROGRAM NODES RANKS: nothing where the launcher or its program is not there.
launch() {
    local each=$(($4 / $3)) program=$work/$2 btl=self,vader,tcp command
    [ "$2" != true ] || program=true
    [ "$1.$2" != mpiexec.mpi ] || program=$work/mpich
    [ "$2" != openmpi5 ] || btl=self,sm,tcp
    case $1 in
        batchai-launch) command=("$launcher" -n "$4") ;;
        srun-*) command=(srun "--mpi=${1#srun-}" -n "$4" --ntasks-per-node="$each") ;;
        mpirun) command=(mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none --map-by "ppr:$each:node" -n "$4") ;;
        mpiexec) command=(mpiexec.mpich -n "$4" -ppn "$each") ;;
        mpirun5 | prterun)
            command=("$peers/openmpi/bin/${1%5}" --allow-run-as-root --bind-to none --map-by "ppr:$each:node:OVERSUBSCRIBE" -n "$4")
            [ "$1" = mpirun5 ] || command+=(--prefix "$peers/openmpi") # mpirun finds it by itself
            ;;
        mpiexec5) command=("$peers/mpich/bin/mpiexec" -n "$4" -ppn "$each") ;;
        mpiexec-impi) command=("$peers/impi-rt/bin/mpiexec.hydra" -n "$4" -ppn "$each") ;;
    esac
    command -v "${command[0]}" >/dev/null && command -v "$program" >/dev/null || return 0
    OMPI_MCA_btl=$btl once "$2.$3.$4.$1" "${command[@]}" "$program"
}

# all_launchers NODES RANKS
all_launchers() {
    local program name
    for program in $programs; do
        for name in ${launchers[$program]}; do
            ! chosen "$name" || launch "$name" "$program" "$@"
        done
    done
}

without_slurm() {
    once true.1.8.local "$launcher" --local 1 -n 8 true
    # shellcheck disable=SC2016 # the shell's
    once true.1.8.fork sh -c 'for rank in 1 2 3 4 5 6 7 8; do /bin/true & all="$all $!"; done
        for one in $all; do wait "$one" || exit; done'
}

# rounds FUNCTION ARGUMENT...: calls it N times, and once before that to warm up.
rounds() {
    local n round=warm
    for ((n = 0; n <= runs; ++n)); do
        [ $n = 0 ] || round=measured
        [ ! -t 2 ] || printf '\r\033[K%s: %d of %d runs' "$*" "$n" "$runs" >&2
        "$@"
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

if [ "$1" = --allocated ]; then # NODES RANKS...
    for ranks in "${@:3}"; do rounds all_launchers "$2" "$ranks"; done
    exit
fi
json=$2
mkdir -p "$work"/{warm,measured}
for peer in mpirun.openmpi mpicc.openmpi mpiexec.mpich mpicc.mpich "$peers"/{openmpi,mpich}/bin/mpicc "$peers/impi-rt/bin/mpiexec.hydra"; do
    command -v "$peer" >/dev/null || echo "launch.sh: $peer is not installed: what needs it has no row" >&2
done
compile() { # NAME COMPILER OPTION...: the MPI program, where the compiler is there
    ! command -v "$2" >/dev/null || "$2" -O2 -o "$work/$1" "$source/tests/bench/init_barrier.c" "${@:3}"
}
compile mpi mpicc.openmpi
compile mpich mpicc.mpich
compile openmpi5 "$peers/openmpi/bin/mpicc"
compile mpich5 "$peers/mpich/bin/mpicc"
[ ! -d "$peers/impi-rt" ] || compile impi "$peers/mpich/bin/mpicc" "-Wl,-rpath,$peers/impi-rt/lib"

# Between network namespaces of one machine Open MPI's own choice of transports is not stable; the ranks
# outnumber the cores.
export OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1 I_MPI_THREAD_YIELD=2
same=(--runs "$runs" --program "$programs" ${only:+--launchers "$only"})
salloc --quiet --exclusive -N 4 "$0" "${same[@]}" --allocated 4 8 32 || exit 1 # it has said why
salloc --quiet --exclusive -N 1 "$0" "${same[@]}" --allocated 1 8 || exit 1
rounds without_slurm

# agents_memory AGENTS RANKS: the most that one of them has had, in kB, once all ranks are there.
agents_memory() {
    local pid ranks=0 end=$((SECONDS + 60))
    cp "$(command -v sleep)" "$work/rank"
    "$launcher" --local "$1" -n "$2" -- "$work/rank" 1000 >"$work/out" 2>&1 </dev/null &
    until ranks=$(pgrep -c -f "^$work/rank") && [ "$ranks" = "$2" ]; do
        ((SECONDS < end)) || die "only $ranks of $2 ranks: $(head -n 1 "$work/out")"
        sleep 0.2
    done
    for pid in $(pgrep -f 'batchai-launch --agent$'); do
        sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
    done | sort -n | tail -n 1
    kill $!
    wait $! || true
}
memory=$(agents_memory 16 1024)
[ -n "$memory" ] || die "no agent's memory was found"

# ---- what was measured ---------------------------------------------------------------------------

# median_of CASE; nothing where it never ended well.
median_of() { [ ! -s "$work/measured/$1" ] || median "$work/measured/$1" 1; }

# row PROGRAM NODES RANKS LAUNCHER GOAL
row() {
    local case=$1.$2.$3.$4 ours failures=0 time
    ours=$(median_of "$1.$2.$3.batchai-launch") time=$(median_of "$case")
    [ ! -e "$work/measured/$case.failed" ] || failures=$(wc -l <"$work/measured/$case.failed")
    [ "$time$failures" != 0 ] || return 0
    printf '%-8s %5s %5s  %-15s %9s %6s' "$1" "$2" "$3" "$4" "${time:--}" "$failures"
    [ -z "$5" ] || awk -v o="$ours" -v t="$time" -v g="$5" 'BEGIN {
        part = o && t ? o / t : 0
        printf("%9s  %s%s", part ? sprintf("%.2f", part) : "-", g, (part > 1.05) ? ": BEHIND" : "") }'
    echo
    printf '{"program": "%s", "nodes": %s, "ranks": %s, "launcher": "%s", "median_ms": %s, "failures": %s}\n' \
        "$1" "$2" "$3" "$4" "${time:-null}" "$failures" >>"$work/rows"
}
goal() {
    case $1.$2 in
        *.batchai-launch) ;;
        true.srun-none) echo 'at most 1.60' ;;
        true.srun-pmix) echo 'at most 0.60' ;;
        *) echo 'less than 1' ;;
    esac
}

printf 'from the start of a launcher to its end, ms: medians of %s runs, %s cores\n\n' "$runs" "$(nproc)"
printf '%-8s %5s %5s  %-15s %9s %6s %9s  %s\n' program nodes ranks launcher median failed ours/it goal
for program in $programs; do
    for shape in '4 8' '4 32' '1 8'; do
        read -r nodes ranks <<<"$shape"
        for name in ${launchers[$program]}; do row "$program" "$nodes" "$ranks" "$name" "$(goal "$program" "$name")"; done
    done
done
failed=$(find "$work/measured" -name '*.failed' -exec cat {} + | sort | uniq -c)
[ -z "$failed" ] || printf '\nfailures, and the first line of each:\n%s\n' "$failed"
echo
awk -v l="$(median_of true.1.8.local)" -v f="$(median_of true.1.8.fork)" -v m="$memory" 'BEGIN {
    printf "8 x true on one node without Slurm: %.2f, a shell: %.2f, added: %.2f (goal: at most 50)\n", l, f, l - f
    printf "memory of an agent, 1,024 ranks on 16: %.1f MB (goal: at most 40)\n", m / 1000 }'

[ -z "$json" ] || sed '1s/^/[/; $!s/$/,/; $s/$/]/' "$work/rows" >"$json"
