// SPDX-License-Identifier: Apache-2.0
//
// A rank that uses MPI and, in the same process, libbatchai_collectives: two clients of PMIx.
#include <mpi.h>

#include "rank.h"

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int ranks = 0, sum = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int* all = calloc(2 * (size_t)ranks, sizeof *all);
    MPI_Alltoall(all, 1, MPI_INT, all + ranks, 1, MPI_INT, MPI_COMM_WORLD);
    start();
    expect(batchai_coll_barrier(comm), "barrier");
    expect(batchai_coll_finalize(comm), "finalize");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (ranks != size || sum != size * (size - 1) / 2) return 9;
    printf("rank %d of %d is fine\n", rank, size);
    free(all);
    return 0;
}
