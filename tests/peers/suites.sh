#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suites.sh [--into FILE] [openpmix|mpi4py|lammps|hpcc|coarrays]... - runs other projects' programs under
# batchai-launch, srun and mpirun; without a name, all suites but coarrays.
#
# Four ranks each, on one node (1x4) and on two (2x2) of a throw-away Slurm, and prints a Markdown table: pass, fail
# with the exit code, hang (it was ended at the time limit). --into puts the table into FILE, in place of the one that
# begins with the same line. docs/benchmarks/suites.md is such a file; docs/peers.md says what it means.
#
#   openpmix  OpenPMIx's client programs (examples, test/simple), which are built against this machine's PMIx
#   mpi4py    the tests of Debian's mpi4py; those that start processes have a row of their own
#   lammps    Debian's LAMMPS: a melt of 4,000 atoms
#   hpcc      Debian's HPC Challenge, in its smallest size
#   coarrays  the tests of OpenCoarrays (images of Fortran over MPI's windows), with Debian's library
#
# Sources are cloned into $BATCHAI_PEERS/suites (default: ~/.cache/batchai-peers/suites), at the commits named below,
# from the projects' repositories, or from clones of them that OPENPMIX, MPI4PY and COARRAYS name. What each program has
# said is kept in log beside them. A suite that is not installed or cannot be cloned is left out, with a line that says so.
#
# Needs the release build, what contrib/install-packages.sh test installs, and the packages lammps, hpcc and
# libcoarrays-openmpi-dev.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${BATCHAI_BUILD:-$source/build/release}
folder=${BATCHAI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/batchai-peers}/suites

# Cloned: where from, and which commit: of mpi4py and OpenCoarrays the version that Debian has.
openpmix=("${OPENPMIX:-https://github.com/openpmix/openpmix}" 494e9d9d03659ac99a4520492d26b8c33d67d9d4)
mpi4py=("${MPI4PY:-https://github.com/mpi4py/mpi4py}" 3.1.4)
coarrays=("${COARRAYS:-https://github.com/sourceryinstitute/OpenCoarrays}" 2.10.1)

# Of OpenPMIx's programs those that are servers, tools and debuggers, not clients.
others=' debugger debuggerd gwtest iof_watcher launcher server simple_server simptest simptool simptoolcycle stability
    tool tool_server_switch toolqry toolswitch '

say() { echo "suites.sh: $1" >&2; }

# clone NAME ADDRESS COMMIT: into $folder/NAME, once.
clone() {
    [ ! -d "$folder/$1" ] || return 0
    rm -rf "$folder/$1.new"
    git clone --quiet "$2" "$folder/$1.new" && git -C "$folder/$1.new" checkout --quiet "$3" &&
        mv "$folder/$1.new" "$folder/$1"
}

# New names of old functions, which this machine's PMIx may lack.
new_names=('-DPMIx_Load_key(a,b)=PMIX_LOAD_KEY(a,b)')
for name in split count free append_nosize join copy; do new_names+=("-DPMIx_Argv_$name=pmix_argv_$name"); done

# build_client DIRECTORY FILE: into $folder/bin, against this machine's PMIx.
build_client() {
    local include
    include=$(pkg-config --variable=includedir pmix)
    ln -sfn "$include" "$folder/include" # some include it by this name
    # shellcheck disable=SC2046 # words
    cc -w "${new_names[@]}" -I"$folder" -I"$include/pmix/src/include" -I"$1/${2%/*}" -I"$1/test/simple" \
        -o "$folder/bin/$(basename "$2" .c)" "$1/$2" $(pkg-config --cflags --libs pmix) -levent -lpthread 2>/dev/null
}

# The newest clients; where one needs more than this machine's PMIx has, the one that came with this PMIx.
prepare_openpmix() {
    local new=$folder/openpmix old=$folder/openpmix-installed version file name missing=()
    version=$(pkg-config --modversion pmix)
    rm -rf "${folder:?}/bin" "$old"
    mkdir -p "$folder/bin" "$old"
    git -C "$new" archive "v${version%rc*}" examples test/simple | tar -x -C "$old"
    for file in $(cd "$new" && ls examples/*.c test/simple/*.c); do
        name=$(basename "$file" .c)
        [[ $others != *[[:space:]]"$name"[[:space:]]* ]] || continue
        build_client "$new" "$file" || { [ -f "$old/$file" ] && build_client "$old" "$file"; } || missing+=("$name")
    done
    say "openpmix: PMIx $version lacks what these need, which are left out: ${missing[*]}"
}

# Programs of several files are left out.
prepare_coarrays() {
    local file compile=(/usr/lib/*/open-coarrays/openmpi/bin/caf)
    mkdir -p "$folder/images"
    while read -r file; do
        "${compile[0]}" -fcoarray=lib -w -J"$folder" -I"${file%/*}" \
            -o "$folder/images/$(basename "${file%.*}")" "$file" &>/dev/null || :
    done < <(grep -rliE '^ *program' "$folder/coarrays/src/tests" --include='*.[fF]90')
    [ -n "$(ls "$folder/images")" ]
}

prepare() {
    case $1 in
        openpmix) clone openpmix "${openpmix[@]}" && prepare_openpmix ;;
        mpi4py) clone mpi4py "${mpi4py[@]}" && /usr/bin/python3 -c 'import mpi4py' ;;
        coarrays) clone coarrays "${coarrays[@]}" && prepare_coarrays ;;
        lammps) command -v lmp >/dev/null ;;
        hpcc) command -v hpcc >/dev/null ;;
        *)
            say "$1: expected openpmix, mpi4py, lammps, hpcc or coarrays; see --help"
            exit 2
            ;;
    esac
}

header='| program | batchai-launch 1x4 | srun 1x4 | mpirun 1x4 | batchai-launch 2x2 | srun 2x2 | mpirun 2x2 |'

# replace FILE: its table by the one on standard input.
replace() {
    local table
    table=$(cat)
    awk -v header="$header" -v table="$table" '
        $0 == header { print table; inside = 1 }
        inside && /^\|/ { next }
        { inside = 0; print }' "$1" >"$1.new" && mv "$1.new" "$1"
}

if [ "${1-}" != --inside ]; then
    [[ ${1-} != -h && ${1-} != --help ]] || { sed -n '3,23s/^# \{0,1\}//p' "$0" && exit; }
    if [ "${1-}" = --into ]; then
        grep -qxF "$header" "${2:?--into FILE}" || { say "$2: holds no line '$header'" && exit 2; }
        table=$("$0" "${@:3}")
        replace "$2" <<<"$table"
        exit
    fi
    [ $# -gt 0 ] || set -- openpmix mpi4py lammps hpcc
    mkdir -p "$folder"
    suites=()
    for suite; do
        if prepare "$suite"; then
            suites+=("$suite")
        else
            say "$suite is left out: not installed, or not to be cloned"
        fi
    done
    export BATCHAI_BUILD=$build BATCHAI_PEERS=${folder%/suites}
    exec "$source/contrib/minislurm" -n 2 -- "$0" --inside "${suites[@]}"
fi
shift

# ---- in the cluster ------------------------------------------------------------------------------

export PATH=$build/bin:$PATH SHELL=/bin/bash
# Between network namespaces of one machine Open MPI's own choice of transports is not stable; the ranks may outnumber
# the cores.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
log=$folder/log work=$MINISLURM_DIR/suites
mkdir -p "$log" "$work"
export TMPDIR=$work # of all nodes, unlike /tmp

# under LAUNCHER NODES COMMAND...: with four ranks, and slots for the processes that they start.
under() {
    case $1 in
        batchai-launch) salloc --quiet "-N$2" --overcommit -n 48 batchai-launch -n 4 -- "${@:3}" ;;
        srun) srun --quiet --mpi=pmix "-N$2" -n4 "--ntasks-per-node=$((4 / $2))" "${@:3}" ;;
        mpirun)
            salloc --quiet "-N$2" "--ntasks-per-node=$((4 / $2))" --overcommit \
                mpirun.openmpi --oversubscribe -n 4 "${@:3}"
            ;;
    esac
}

# verdict SUITE NAME LAUNCHER NODES COMMAND...: one cell of the table.
verdict() {
    local code=0 began=$SECONDS said=$log/${2// /-}.$3.$4 jobs
    (
        cd "$(mktemp -d "$work/XXXXXX")"
        "set_up_$1"
        export -f under
        timeout -k 5 "${limit[$1]}" bash -c 'under "$@"' bash "${@:3}" </dev/null >"$said" 2>&1 || exit
        "judge_$1" "$said"
    ) || code=$?
    jobs=$(squeue -h -o %i) || jobs=
    # shellcheck disable=SC2086 # words
    [ -z "$jobs" ] || scancel $jobs
    while [ -n "$(squeue -h)" ]; do sleep 0.1; done
    if ((SECONDS - began >= limit[$1])); then
        echo hang
    elif [ "$code" = 0 ]; then
        echo pass
    else
        echo "fail $code"
    fi
}

# row SUITE NAME LAUNCHERS COMMAND...
row() {
    local launcher nodes line="| $2"
    for nodes in 1 2; do
        for launcher in batchai-launch srun mpirun; do
            if [[ " $3 " = *" $launcher "* ]]; then
                line+=" | $(verdict "$1" "$2" "$launcher" "$nodes" "${@:4}")"
            else
                line+=" |"
            fi
        done
    done
    echo "$line |"
    say "$line |"
}

declare -A limit=([openpmix]=20 [mpi4py]=600 [coarrays]=40 [lammps]=60 [hpcc]=120)

set_up_openpmix() { :; }
judge_openpmix() { :; }
run_openpmix() {
    local program
    for program in "$folder"/bin/*; do row openpmix "${program##*/}" "batchai-launch srun" "$program"; done
}

# All ranks run each test: what failed on any of them counts once. Its code is the number of tests that failed.
set_up_mpi4py() { cp -r "$folder/mpi4py/test" .; }
judge_mpi4py() {
    local failed
    failed=$(grep -oE 'test\w+ \(test_[^)]*\) \.\.\. (ERROR|FAIL)$' "$1" | sort -u | wc -l)
    [ "$failed" = 0 ] && [ "$(grep -cE '^ *OK( \(skipped=|$)' "$1")" = 4 ] || return $((failed > 255 ? 255 : failed))
}
run_mpi4py() {
    row mpi4py "mpi4py $(/usr/bin/python3 -c 'import mpi4py; print(mpi4py.__version__)')" "batchai-launch srun mpirun" \
        bash -c '/usr/bin/python3 test/runtests.py --no-builddir --no-threads -e spawn -v || :'
    row mpi4py "mpi4py, spawn" "batchai-launch mpirun" \
        bash -c '/usr/bin/python3 test/runtests.py --no-builddir --no-threads -i spawn -v || :'
}

set_up_coarrays() { :; }
judge_coarrays() { :; }
run_coarrays() {
    local program
    for program in "$folder"/images/*; do row coarrays "${program##*/}" "batchai-launch mpirun" "$program"; done
}

set_up_lammps() {
    cat >in.melt <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 250
END
}
judge_lammps() { grep -q '^Loop time of .* on 4 procs for 250 steps with 4000 atoms' "$1"; }
run_lammps() { row lammps LAMMPS "batchai-launch srun mpirun" lmp -in in.melt; }

set_up_hpcc() { zcat -f /usr/share/doc/hpcc/examples/_hpccinf.txt* >hpccinf.txt; }
judge_hpcc() { grep -q '^Success=1$' hpccoutf.txt; }
run_hpcc() { row hpcc "HPC Challenge" "batchai-launch srun mpirun" hpcc; }

echo "$header"
echo "|---|---|---|---|---|---|---|"
for suite; do "run_$suite"; done
