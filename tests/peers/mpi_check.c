// SPDX-License-Identifier: Apache-2.0
//
// A plain MPI program: ranks, sizes, an allreduce and node-local communicators.
// mpi_check RANKS LOCAL_RANKS [publish | abort RANK CODE | leave RANK CODE | killed RANK | helper
// COMMAND | after COMMAND] leave: without MPI_Finalize, while the others are in it helper, after:
// runs the command before MPI_Finalize, or after it
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(int ok, const char* what) {
    if (ok) return;
    fprintf(stderr, "mpi_check: wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 99);
}

static void check_publish(int rank) {
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) MPI_Publish_name("batchai-check", MPI_INFO_NULL, "the port");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Lookup_name("batchai-check", MPI_INFO_NULL, port);
    expect(strcmp(port, "the port") == 0, "published name");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Unpublish_name("batchai-check", MPI_INFO_NULL, "the port");
}

static void fail(const char* how, int code) {
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, code);
    if (strcmp(how, "killed") == 0) raise(SIGKILL);
    if (strcmp(how, "leave") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(code);
    }
}

// Runs the command if the mode is asked for.
static void run_helper(int argc, char** argv, const char* mode) {
    if (argc < 5 || strcmp(argv[3], mode) != 0) return;
    if (system(argv[4]) == 0) return;
    fprintf(stderr, "mpi_check: the command has failed: %s\n", argv[4]);
    exit(98);
}

int main(int argc, char** argv) {
    int rank, size, local_size;
    long sum = 0, one;
    MPI_Comm local;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect(size == atoi(argv[1]), "size");
    expect(rank == atoi(getenv("OMPI_COMM_WORLD_RANK")), "rank");
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == (long)size * (size + 1) / 2, "allreduce");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &local_size);
    expect(local_size == atoi(argv[2]), "ranks on this node");
    if (argc > 3 && strcmp(argv[3], "publish") == 0) check_publish(rank);
    if (argc > 4 && rank == atoi(argv[4])) fail(argv[3], argc > 5 ? atoi(argv[5]) : 0);
    run_helper(argc, argv, "helper");
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d is fine\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    run_helper(argc, argv, "after");
    return 0;
}
