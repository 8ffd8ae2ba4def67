// SPDX-License-Identifier: Apache-2.0
//
// A rank of a job that uses batchai_coll_allocate. Prints "rank R of N is fine" where everything
// was as expected; exits 9 after a sentence where not.
//
// memory_check MODE, where MODE is one of
//
//   bits       allreduces of all types give the bits that they give elsewhere, whichever ranks'
//              buffers lie there
//   long       the same of some that are longer than the caches
//   refused    what is refused, and a lack of memory; the communicator survives it
//   mismatch   a rank calls something else than allocate: all ranks get MISMATCH
//   hidden     a rank is not dumpable: all ranks get SYSTEM with its number
//   killed     a rank kills itself amid operations: all others get PEER
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "numbers.h"
#include "rank.h"

static size_t most = 1200000;  // bytes
static char *mine, *own;       // that all ranks of the node can address; that no other one can

static void* allocated(size_t bytes) {
    void* memory = NULL;
    expect(batchai_coll_allocate(comm, bytes, &memory), "allocate");
    return memory;
}

// ---- bits --------------------------------------------------------------------------------------

// Into the first half of `at` from the second one, or in place.
static void reduce_at(char* at, size_t count, batchai_coll_type type, int in_place) {
    char* send = in_place ? at : at + most / 2;
    for (size_t i = 0; i < count; ++i)
        put(send, i, type, sin((double)(i % 97 + 1) * (rank + 1)) * 50);
    expect(batchai_coll_allreduce(comm, send, at, count, type, BATCHAI_COLL_SUM, NULL),
           "allreduce");
}

static void check_bits(size_t count, batchai_coll_type type, int in_place) {
    reduce_at(own, count, type, in_place);
    for (unsigned which = 0; which < 3; ++which) {  // no ranks, some, all
        char* at = which == 2 || (which == 1 && rank % 2 == 0) ? mine : own + most;
        at += (which + 1) * bytes_of(type);  // off what is aligned
        reduce_at(at, count, type, in_place);
        if (memcmp(own, at, count * bytes_of(type)) != 0) {
            fprintf(stderr, "rank %d: count %zu type %d in place %d which %u: other bits\n", rank,
                    count, type, in_place, which);
            exit(9);
        }
    }
}

static void make_buffers(void) {
    mine = allocated(most + 64);
    own = malloc(2 * most + 64);
    if (own == NULL) fail("out of memory");
}

static void bits(void) {
    make_buffers();
    static const size_t counts[] = {1, 1000, 5000, 40001, 75000};
    for (int type = BATCHAI_COLL_FLOAT32; type <= BATCHAI_COLL_BOOL; ++type) {
        for (int c = 0; c < 5; ++c) {
            for (int in_place = 0; in_place < 2; ++in_place) {
                check_bits(counts[c], type, in_place);
            }
        }
    }
    expect(batchai_coll_free(comm, mine), "free");
    free(own);
}

static void long_ones(void) {
    most = 26000000;
    make_buffers();
    for (int round = 0; round < 3; ++round) {
        check_bits(3200003, BATCHAI_COLL_FLOAT32, round % 2);
        check_bits(9000, BATCHAI_COLL_FLOAT32, 0);
    }
    free(own);
}

// ---- what goes wrong ---------------------------------------------------------------------------

static void expect_status(batchai_coll_status status, batchai_coll_status wanted,
                          const char* said) {
    if (status == wanted && strstr(batchai_coll_last_error(), said) != NULL) return;
    fprintf(stderr, "rank %d: %s instead of %s: %s\n", rank, batchai_coll_status_name(status),
            batchai_coll_status_name(wanted), batchai_coll_last_error());
    exit(9);
}

static void refused(void) {
    const batchai_coll_status argument = BATCHAI_COLL_ERR_ARGUMENT;
    void* memory = NULL;
    expect_status(batchai_coll_allocate(NULL, 1, &memory), argument, "allocate: a null argument");
    expect_status(batchai_coll_allocate(comm, 1, NULL), argument, "allocate: a null argument");
    expect_status(batchai_coll_allocate(comm, SIZE_MAX, &memory), BATCHAI_COLL_ERR_SYSTEM,
                  "available");
    expect_status(batchai_coll_free(NULL, memory), argument, "free: comm is null");
    expect_status(batchai_coll_free(comm, NULL), argument, "allocate did not return");
    expect_status(batchai_coll_free(comm, &memory), argument, "allocate did not return");
    for (int poor = 0; poor < size; ++poor) {
        const batchai_coll_status status =
            batchai_coll_allocate(comm, rank == poor ? (size_t)1 << 60 : 1, &memory);
        expect_status(status, BATCHAI_COLL_ERR_SYSTEM, "are available");
        if (memory != NULL) fail("memory that is not there");
    }
    float* numbers = allocated(100000 * sizeof(float));
    for (int i = 0; i < 100000; ++i) numbers[i] = (float)rank;
    expect(batchai_coll_allreduce(comm, numbers, numbers, 100000, BATCHAI_COLL_FLOAT32,
                                  BATCHAI_COLL_SUM, NULL),
           "allreduce");
    for (int i = 0; i < 100000; ++i) {
        if (numbers[i] != (float)(size * (size - 1)) / 2) fail("a wrong sum");
    }
    // It is not freed: finalize does.
}

static void mismatch(void) {
    void* memory = NULL;
    const batchai_coll_status status =
        rank == size - 1 ? batchai_coll_barrier(comm) : batchai_coll_allocate(comm, 1, &memory);
    expect_status(status, BATCHAI_COLL_ERR_MISMATCH, "calls allocate");
    expect_status(batchai_coll_allocate(comm, 1, &memory), BATCHAI_COLL_ERR_MISMATCH,
                  "calls allocate");
}

static void hidden(void) {
    void* memory = NULL;
    if (rank == 1) prctl(PR_SET_DUMPABLE, 0);
    const batchai_coll_status status = batchai_coll_allocate(comm, 1, &memory);
    expect_status(status, BATCHAI_COLL_ERR_SYSTEM, "memory of rank 1: ");
    expect_status(status, BATCHAI_COLL_ERR_SYSTEM, "is not dumpable");
}

static void killed(void) {
    const size_t count = most / sizeof(float);
    float* numbers = allocated(most);
    for (int i = 0;; ++i) {
        if (rank == 1 && i == 20) raise(SIGKILL);
        const batchai_coll_status status = batchai_coll_allreduce(
            comm, numbers, numbers, count, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, NULL);
        if (status == BATCHAI_COLL_OK) continue;
        expect_status(status, BATCHAI_COLL_ERR_PEER, "rank 1 ");
        numbers[0] = numbers[count - 1] = 1;  // it is still there
        return;
    }
}

int main(int count, char** words) {
    const char* mode = count == 2 ? words[1] : "";
    start();
    if (strcmp(mode, "bits") == 0) {
        bits();
    } else if (strcmp(mode, "long") == 0) {
        long_ones();
    } else if (strcmp(mode, "refused") == 0) {
        refused();
    } else if (strcmp(mode, "mismatch") == 0) {
        mismatch();
    } else if (strcmp(mode, "hidden") == 0) {
        hidden();
    } else if (strcmp(mode, "killed") == 0) {
        killed();
    } else {
        fprintf(stderr, "memory_check: no mode '%s'\n", mode);
        return 64;
    }
    expect(batchai_coll_finalize(comm), "finalize");
    printf("rank %d of %d is fine\n", rank, size);
    return 0;
}
