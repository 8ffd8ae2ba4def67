// SPDX-License-Identifier: Apache-2.0
//
// A plain MPI program that does little except wait.
// spin_check COUNT: does COUNT allreduces; rank 0 prints "yield Y, N ns": the value of Open MPI's
// mpi_yield_when_idle, and the time of one allreduce.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int yields(void) {
    int provided, index, count;
    unsigned char value = 255;
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        MPI_T_cvar_read(handle, &value);
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return value;
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    int rank;
    double one = 1, sum, start;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < count; ++i)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("yield %d, %.0f ns\n", yields(), (MPI_Wtime() - start) / count * 1e9);
    MPI_Finalize();
    return 0;
}
