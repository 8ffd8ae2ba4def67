// SPDX-License-Identifier: Apache-2.0
//
// A rank that asks for new processes: MPI_Comm_spawn. It comes back from it only where there are
// some.
#include <mpi.h>
#include <stdio.h>

int main(int count, char** words) {
    MPI_Comm others;
    MPI_Init(&count, &words);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int status = MPI_Comm_spawn(words[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                      &others, MPI_ERRCODES_IGNORE);
    printf("spawned: %d\n", status);
    MPI_Finalize();
    return 0;
}
