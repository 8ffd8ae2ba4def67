// SPDX-License-Identifier: Apache-2.0
//
// A rank that asks for new processes: MPI_Comm_spawn.
// spawn_check          all ranks together; an error ends the program
// spawn_check self     rank 0 alone; it goes on after an error
#include <mpi.h>
#include <stdio.h>

int main(int count, char** words) {
    MPI_Comm others;
    int rank, ranks, status = MPI_SUCCESS;
    const int self = count > 1;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (self) MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!self || rank == 0) {
        status =
            MPI_Comm_spawn(words[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
                           self ? MPI_COMM_SELF : MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    }
    if (rank == 0 && status != MPI_SUCCESS) puts("there are no new processes");
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d is fine\n", rank, ranks);
    MPI_Finalize();
    return 0;
}
