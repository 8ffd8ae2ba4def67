#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Several programs in one launch, as mpirun and mpiexec start them, and the options that each of them has.
# minislurm: -n 2
#
# shellcheck disable=SC2016,SC2154 # expanded by the ranks; status, output and stderr are set by run

load lib

setup() { cd "$BATS_TEST_TMPDIR" || return; }

launch() { timeout -k 2 60 salloc --quiet -N2 batchai-launch "$@"; }
# said: the messages of a launch that is refused.
refused() {
    run -125 --separate-stderr timeout 30 batchai-launch "$@"
    [ -z "$output" ]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    echo "$stderr"
}

@test "programs with a colon between are one job, and none gets the rest of the line as arguments" {
    run -0 launch -n 1 sh -c 'echo "a $RANK/$WORLD_SIZE $*"' a one : -n 2 sh -c 'echo "b $RANK/$WORLD_SIZE $*"' b two
    [ "$(sort <<<"$output")" = $'a 0/3 one\nb 1/3 two\nb 2/3 two' ]
}

@test "each program has variables and a directory of its own" {
    mkdir mine
    run -0 launch -n 1 --env 'X={index} $HOME' --wdir mine sh -c 'echo "$X $PWD"' : -n 1 --wdir /tmp --env Y=2 sh -c 'echo "${X-none} $Y $PWD"'
    [ "$(sort <<<"$output")" = $'none 2 /tmp\n{index} $HOME '"$PWD/mine" ]
    run launch -n 2 --env A=1 sh -c 'echo "$A"' # of one program too
    [ "$output" = $'1\n1' ]
    run -125 launch --wdir /no/such true
    [[ $output = *"could not be started: entering /no/such: No such file or directory"* ]]
}

@test "a launch in a rank keeps the variables of its program" {
    run -0 launch -n 1 --env MINE=1 batchai-launch --local 1 -n 1 sh -c 'echo "$MINE"' : -n 1 true
    [ "$output" = 1 ]
}

@test "a file of programs starts the same ranks" {
    printf '%s\n' '# the master' "-n 1 sh -c 'echo \"master \$RANK\"'" "-n 2 --env W=w sh -c 'echo \"worker \$RANK \$W\"'" >programs
    for option in -configfile --configfile; do
        run -0 launch $option programs
        [ "$(sort <<<"$output")" = $'master 0\nworker 1 w\nworker 2 w' ]
    done
}

@test "the dry run shows each program's ranks, directory and variables" {
    run -0 launch --dry-run -n 1 --wdir /tmp a : -n 2 --env Y=2 b
    [[ $output = *"rank 0: a"$'\n'"    in /tmp"* ]]
    [[ $output = *"ranks 1-2: b"* ]]
    [ "$(grep -c '^    Y=2$' <<<"$output")" = 2 ]
    launch --dry-run --json -n 1 --wdir /tmp a : -n 2 b | jq -e '[.ranks[].command[0]] == ["a", "b", "b"] and .ranks[0].directory == "/tmp"'
}

@test "a failure of one program ends the others, and is told by its rank" {
    run -3 launch -n 1 sleep 100 : -n 1 sh -c 'exit 3'
    [[ $output = *"rank 1 on "*" exited with code 3 "* ]]
}

@test "MPI programs know which program of the job they are" {
    command -v mpicc.openmpi || skip "Open MPI is not installed"
    cat >appnum.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size, flag, *number;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    printf("%d/%d: %d\n", rank, size, flag ? *number : -1);
    return MPI_Finalize();
}
END
    mpicc.openmpi -o appnum appnum.c
    run -0 launch -n 2 ./appnum : -n 1 ./appnum x
    [ "$(grep / <<<"$output" | sort)" = $'0/3: 0\n1/3: 0\n2/3: 1' ]
}

@test "a wrong list of programs is refused in one line, and nothing starts" {
    [[ $(refused -n 1 a : b) = *": each of several programs needs its number of ranks: -n N before b. If ':' is an argument, write -- before the command; see batchai-launch --help" ]]
    [[ $(refused -n 1 /usr/bin/mpirun a : -n 1 b) = *": ':' after mpirun: for mpirun's own ':', write -- before mpirun"* ]]
    [[ $(refused -n 1 a :) = *": a program is missing before or after ':'"* ]]
    [[ $(refused -n 1 a : -l b) = *": -l: only -n, --env and --wdir are options of a program; others stand before the first program"* ]]
    [[ $(refused -n 1 a : -np 2 b) = *": -np: another launcher's option; here: -n N"* ]]
    [[ $(refused --ranks-per-node 1 a : -n 1 b) = *": --ranks-per-node is for one program: "* ]]
    [[ $(refused --env A a) = *"write NAME=VALUE"* ]]
    printf '%s\n' '-n 1 a' "-n 1 'b" >programs
    [[ $(refused --configfile programs) = *": programs:2: a quote is not closed: '"* ]]
    [[ $(refused --configfile programs c) = *": --configfile has the programs and their options: leave others out"* ]]
}
