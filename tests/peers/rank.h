// SPDX-License-Identifier: Apache-2.0
//
// What every rank of the checks of libbatchai_collectives begins and ends with. For one source file
// of a program.
#pragma once

#include <batchai/collectives.h>
#include <stdio.h>
#include <stdlib.h>

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
