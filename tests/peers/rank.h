// SPDX-License-Identifier: Apache-2.0
//
// What every rank of the checks of libbatchai_collectives begins and ends with. For one source file
// of a program.
#pragma once

#include <batchai/collectives.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static batchai_coll_comm* comm;
static int rank, size;

static inline void fail(const char* what) {
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, batchai_coll_last_error());
    exit(9);
}

static inline void expect(batchai_coll_status status, const char* what) {
    if (status != BATCHAI_COLL_OK) fail(what);
}

static inline void start(void) {
    expect(batchai_coll_init(&comm), "init");
    rank = batchai_coll_rank(comm);
    size = batchai_coll_size(comm);
}

// Reduces until there is such a file.
static inline void busy(const char* file) {
    int64_t over = 0;
    printf("rank %d is busy\n", rank);
    fflush(stdout);
    while (over == 0) {
        over = access(file, F_OK) == 0;
        expect(batchai_coll_allreduce(comm, &over, &over, 1, BATCHAI_COLL_INT64, BATCHAI_COLL_MAX,
                                      NULL),
               "allreduce");
    }
}
