#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# mpi4py's own tests, except those that start processes. Debian does not package them: with
# BATCHAI_SOAK=1 and BATCHAI_MPI4PY naming the unpacked source of the mpi4py that is installed (not
# below /tmp: each node has its own), they run; a few minutes each.

load ../cluster/lib

setup_file() {
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1
}

setup() {
    [ -d "${BATCHAI_MPI4PY-}/test" ] || skip "BATCHAI_MPI4PY does not name mpi4py's source"
    cd "$BATCHAI_MPI4PY" || return
    tests=(/usr/bin/python3 test/runtests.py --no-builddir --no-threads -e spawn -v)
}

passed() { grep -c '^ *OK (skipped=' <<<"$output"; }

# Each once, whichever ranks it failed on; "name (test_file.Class.name)".
failed() { grep -oE 'test\w+ \(test_[^)]*\) \.\.\. (ERROR|FAIL)$' <<<"$output" | sort -u || true; }

@test "mpi4py's tests pass with four ranks on one node" {
    run -0 timeout 1200 salloc --quiet -N1 batchai-launch -n 4 -- "${tests[@]}"
    [ "$(passed)" -eq 4 ]
}

# Open MPI 4.1 makes no windows over TCP and shared memory together: no launcher changes that.
@test "with two ranks on each of two nodes all pass but windows that fail under srun as well" {
    run timeout 1200 salloc --quiet -N2 batchai-launch -n 4 -- "${tests[@]}"
    local ours under_srun
    ours=$(failed)
    grep -q '^ *Ran [0-9]* tests in' <<<"$output"
    run timeout 1200 srun --mpi=pmix -N2 -n4 "${tests[@]}" -i test_win
    under_srun=$(failed)
    echo "failed under batchai-launch: $ours"
    [ -z "$(comm -23 <(echo "$ours") <(echo "$under_srun"))" ]
}
