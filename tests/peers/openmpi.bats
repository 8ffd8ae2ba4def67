#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2

load ../cluster/lib

# Between network namespaces of one machine Open MPI's own choice of transports is not stable.
setup_file() {
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp
}

setup() {
    check=$BATCHAI_BUILD/tests/peers/openmpi_check
    [ -x "$check" ] || skip "Open MPI's compiler is not installed"
}

local_launch() { timeout -k 2 60 batchai-launch --local 2 -n 4 -- "$@"; }
slurm_launch() { salloc --quiet -N2 batchai-launch -n 4 -- "$@"; }

@test "an unmodified Open MPI program starts on one machine that plays two nodes" {
    all_are_fine 4 local_launch "$check" 4 2
}

@test "an unmodified Open MPI program starts on two nodes of Slurm" {
    all_are_fine 4 slurm_launch "$check" 4 2
}

@test "an unmodified Open MPI program starts with different numbers of ranks on its nodes" {
    all_are_fine 3 salloc --quiet -N2 batchai-launch -n 3 -- sh -c "exec $check 3 \$LOCAL_WORLD_SIZE"
}

@test "an interface with the same address on both nodes does not hang an Open MPI program" {
    need_root
    for node in n1 n2; do
        on_node "$node" sh -c 'ip link add docker0 type veth peer name docker1 && ip addr add 172.17.0.1/16 dev docker0 &&
            ip link set docker0 up && ip link set docker1 up'
    done
    local code=0
    all_are_fine 4 slurm_launch "$check" 4 2 || code=$?
    for node in n1 n2; do on_node "$node" ip link delete docker0; done
    return "$code"
}

# The processes on the other node are mpirun's, but inherit the rank's variables.
@test "mpirun inside a rank starts processes on both nodes without an error" {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # shellcheck disable=SC2016 # expanded by the rank
    all_are_fine 4 salloc --quiet -N2 batchai-launch --ranks-per-node 1 sh -c \
        '[ "$RANK" != 0 ] || mpirun.openmpi --oversubscribe -n 4 --map-by node "$0" 4 2' "$check"
    [[ $output != *error* ]]
}

@test "MPI_Publish_name is seen on the other node" {
    all_are_fine 4 slurm_launch "$check" 4 2 publish
}

@test "MPI_Abort ends the job with its code" {
    run -7 slurm_launch "$check" 4 2 abort 3 7
    [[ $output = *"batchai-launch: rank 3 on n2 aborted the job with code 7"* ]]
    run -0 slurm_launch "$check" 4 2 abort 3 0 # as with mpirun
    [[ $output = *"batchai-launch: rank 3 on n2 aborted the job with code 0"* ]]
}

# Open MPI 4.1 reads XML by libxml2, which divides by zero.
@test "a Fortran program that traps floating-point errors is not killed in MPI_Init, and prints no notes" {
    local traps=$BATCHAI_BUILD/tests/peers/traps_check
    [ -x "$traps" ] || skip "gfortran is not installed"
    all_are_fine 4 local_launch "$traps"
    all_are_fine 4 slurm_launch "$traps"
    [[ $output != *IEEE* ]]
}

@test "two live programs of one rank do not become a job each" {
    run -125 local_launch "$check" 4 2 helper "$check 4 2"
    # A program may write a line about its own end first.
    [[ $output = *"batchai-launch: rank "*" on "*" has several processes ("*", "*"): a rank is one process at a time. "* ]]
    [[ $output != *"is fine"* ]]
}

# Helpers hold the connection to the PMIx server that their program has opened.
@test "a program's helpers, and the next programs of its rank, are not taken for a second one" {
    run -0 local_launch sh -c '"$0" 4 2 helper "sleep 3 >/dev/null 2>&1 &" && "$0" 4 2 after "$0 4 2" && exec "$0" 4 2 helper true' "$check"
    [ "$(grep -c 'of 4 is fine$' <<<"$output")" -eq 16 ]
}

@test "the only rank of a job may run programs side by side" {
    run -0 timeout -k 2 60 batchai-launch --local 1 -n 1 "$check" 1 1 helper "$check 1 1"
    [ "$output" = $'rank 0 of 1 is fine\nrank 0 of 1 is fine' ]
}

@test "an unmodified mpi4py script starts on one machine that plays two nodes" {
    all_are_fine 4 local_launch /usr/bin/python3 "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
}

@test "an unmodified mpi4py script starts on two nodes of Slurm" {
    all_are_fine 4 slurm_launch /usr/bin/python3 "$BATCHAI_SOURCE/tests/peers/mpi4py_check.py"
}

@test "an Open MPI program started by mpirun inside our job does not find our leftovers" {
    run timeout -k 2 60 batchai-launch --local 1 -n 1 -- \
        mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 sh -c 'echo "$OMPI_COMM_WORLD_SIZE"'
    [ "$status" -eq 0 ]
    [ "$output" = $'2\n2' ]
}

# nanoseconds "yield 1, 6300 ns": the last number.
nanoseconds() { [[ $1 =~ ^yield\ [01],\ ([0-9]+)\ ns$ ]] && echo "${BASH_REMATCH[1]}"; }

# on_cpus COUNT COMMAND...: may run on the first of this machine's CPUs only.
on_cpus() {
    local cpus
    cpus=$(/usr/bin/python3 -c 'import os, sys; print(*sorted(os.sched_getaffinity(0))[:int(sys.argv[1])], sep=",")' "$1")
    timeout -k 2 60 taskset -c "$cpus" "${@:2}"
}

@test "ranks that outnumber the cores do not keep a core while they wait" {
    spin=$BATCHAI_BUILD/tests/peers/spin_check
    run -0 on_cpus 2 mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "$spin" 500
    theirs=$(nanoseconds "$output")
    run -0 on_cpus 2 batchai-launch --local 1 -n 4 "$spin" 500
    [[ $output = "yield 1, "* ]]
    # A rank that keeps its core makes it 700 times.
    (($(nanoseconds "$output") < 30 * theirs))
    # Two nodes that are one machine have the cores of one.
    run on_cpus 2 batchai-launch --local 2 -n 4 "$spin" 1
    [[ $output = "yield 1, "* ]]
    # On a node of Slurm the cores that it has granted count.
    run salloc --quiet -N2 -n 2 batchai-launch -n 4 "$spin" 1
    [[ $output = "yield 1, "* ]]
}

@test "ranks with a core each, or with the user's own setting, are not told to give it up" {
    [ "$(lscpu -p=CORE,SOCKET,NODE | grep -v '^#' | sort -u | wc -l)" -ge 2 ] || skip "one core only"
    spin=$BATCHAI_BUILD/tests/peers/spin_check
    run timeout -k 2 60 batchai-launch --local 1 -n 2 "$spin" 1
    [[ $output = "yield 0, "* ]]
    OMPI_MCA_mpi_yield_when_idle=0 run on_cpus 2 batchai-launch --local 1 -n 4 "$spin" 1
    [[ $output = "yield 0, "* ]]
}
