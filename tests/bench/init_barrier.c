// SPDX-License-Identifier: Apache-2.0
//
// What every MPI program does, and nothing else: the MPI program of launch.sh.
#include <mpi.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
