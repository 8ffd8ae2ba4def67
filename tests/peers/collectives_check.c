// SPDX-License-Identifier: Apache-2.0
//
// A rank of a job that uses libbatchai_collectives, in C. Prints "rank R of N is fine" where
// everything was as expected; exits 9 after a sentence where not.
//
// collectives_check MODE [ARGUMENT], where MODE is one of
//
//   places         prints rank, local rank and node, and their numbers
//   matrix         all types, operations and counts, in and out of place
//   async          many operations under way at once, waited for in another order
//   again          init and finalize three times
//   bits           results do not depend on the message's size nor on the number's place in it
//   large          more than 2^31 bytes
//   arguments      what is refused; the communicator survives it
//   mismatch KIND  KIND: count, type, op, factor, kind, root, missing; all ranks get MISMATCH
//   killed RANK    RANK kills itself amid operations; all others get PEER
//   left RANK      RANK exits without finalize; all others get PEER
//   late RANK      RANK comes too late; all get TIMEOUT
//   stuck RANK FILE  RANK does not go on until there is such a file, for which the others wait
//   busy FILE      all go on until there is such a file
//   linger RANK FILE  after finalize, RANK does not end until there is such a file, nor right then
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numbers.h"
#include "rank.h"

static void expect_status(batchai_coll_status status, batchai_coll_status wanted) {
    if (status == wanted) return;
    fprintf(stderr, "rank %d: %s instead of %s: %s\n", rank, batchai_coll_status_name(status),
            batchai_coll_status_name(wanted), batchai_coll_last_error());
    exit(9);
}

static void* memory(size_t bytes) {
    void* data = malloc(bytes > 0 ? bytes : 1);
    if (data == NULL) fail("out of memory");
    return data;
}

// ---- one operation, checked --------------------------------------------------------------------

static void check_scaled(size_t count, batchai_coll_type type, batchai_coll_op op, int in_place,
                         const batchai_coll_scaling* scaling) {
    const size_t bytes = count * bytes_of(type);
    // Off by one element from what malloc aligns.
    char* send = (char*)memory(bytes + 8) + bytes_of(type);
    char* receive = in_place ? send : (char*)memory(bytes + 8) + bytes_of(type);
    for (size_t i = 0; i < count; ++i) put(send, i, type, element(i, rank, type));
    expect(batchai_coll_allreduce(comm, send, receive, count, type, op, scaling), "allreduce");
    const double before = scaling == NULL ? 1 : scaling->before;
    const double after = scaling == NULL ? 1 : scaling->after;
    const int divisor = op == BATCHAI_COLL_AVERAGE ? size : 1;
    for (size_t i = 0; i < count; ++i) {
        if (!is(receive, i, type, reduced(i, type, op) * before, divisor, after)) {
            fprintf(stderr,
                    "rank %d: allreduce: count %zu type %d op %d in place %d: element %zu\n", rank,
                    count, type, op, in_place, i);
            exit(9);
        }
    }
    free(send - bytes_of(type));
    if (!in_place) free(receive - bytes_of(type));
}

static void check_allreduce(size_t count, batchai_coll_type type, batchai_coll_op op,
                            int in_place) {
    check_scaled(count, type, op, in_place, NULL);
}

static void check_broadcast(size_t count, batchai_coll_type type, int root) {
    void* data = memory(count * bytes_of(type));
    for (size_t i = 0; i < count; ++i)
        put(data, i, type, rank == root ? element(i, root, type) : 99);
    expect(batchai_coll_broadcast(comm, data, count, type, root), "broadcast");
    for (size_t i = 0; i < count; ++i) {
        if (!is(data, i, type, element(i, root, type), 1, 1)) fail("broadcast: a wrong element");
    }
    free(data);
}

static void check_allgather(size_t count, batchai_coll_type type, int in_place) {
    const size_t bytes = count * bytes_of(type);
    char* receive = memory(bytes * (size_t)size);
    char* own = receive + bytes * (size_t)rank;
    char* send = in_place ? own : memory(bytes);
    for (size_t i = 0; i < count; ++i) put(send, i, type, element(i, rank, type));
    expect(batchai_coll_allgather(comm, send, receive, count, type), "allgather");
    for (int r = 0; r < size; ++r) {
        for (size_t i = 0; i < count; ++i) {
            if (!is(receive + bytes * (size_t)r, i, type, element(i, r, type), 1, 1)) {
                fprintf(stderr, "rank %d: allgather: count %zu type %d: element %zu of rank %d\n",
                        rank, count, type, i, r);
                exit(9);
            }
        }
    }
    if (!in_place) free(send);
    free(receive);
}

// ---- modes -------------------------------------------------------------------------------------

static void places(void) {
    printf("rank %d of %d: local rank %d of %d, node %d of %d\n", rank, size,
           batchai_coll_local_rank(comm), batchai_coll_local_size(comm),
           batchai_coll_node_rank(comm), batchai_coll_node_count(comm));
}

// One rank's NaN is everybody's minimum and maximum.
static void check_nan(size_t count) {
    double* data = memory(count * sizeof *data);
    for (int op = BATCHAI_COLL_MIN; op <= BATCHAI_COLL_MAX; ++op) {
        for (int odd = 0; odd < size; ++odd) {
            for (size_t i = 0; i < count; ++i) data[i] = rank == odd ? (double)NAN : 1;
            expect(batchai_coll_allreduce(comm, data, data, count, BATCHAI_COLL_FLOAT64,
                                          (batchai_coll_op)op, NULL),
                   "allreduce");
            for (size_t i = 0; i < count; ++i) {
                if (!isnan(data[i])) fail("min and max: a NaN got lost");
            }
        }
    }
    free(data);
}

static void matrix(void) {
    static const size_t counts[] = {0, 1, 2, 3, 7, 13, 14, 26, 27, 1023, 65537, 300007};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        for (int type = BATCHAI_COLL_FLOAT32; type <= BATCHAI_COLL_BOOL; ++type) {
            for (int root = 0; root < size; ++root) check_broadcast(counts[c], type, root);
            for (int in_place = 0; in_place < 2; ++in_place) {
                check_allgather(counts[c], type, in_place);
                for (int op = 0; op <= BATCHAI_COLL_PRODUCT; ++op) {
                    if (type == BATCHAI_COLL_BOOL && op == BATCHAI_COLL_AVERAGE) continue;
                    check_allreduce(counts[c], type, op, in_place);
                }
                if (!has_factors(type)) continue;
                static const batchai_coll_scaling scaling = {0.5, 3};
                check_scaled(counts[c], type, BATCHAI_COLL_SUM, in_place, &scaling);
                check_scaled(counts[c], type, BATCHAI_COLL_AVERAGE, in_place, &scaling);
            }
            expect(batchai_coll_barrier(comm), "barrier");
        }
    }
    check_nan(1);
    check_nan(3000);
}

enum { kOperations = 24 };
static const size_t async_counts[] = {1, 5000, 0, 300001};

// The i-th operation: an allreduce, a broadcast or an allgather.
static batchai_coll_request* start_one(int i, float** data) {
    const size_t count = async_counts[i % 4];
    const int gathers = i % 3 == 2;
    const batchai_coll_type type = BATCHAI_COLL_FLOAT32;
    *data = memory(count * sizeof(float) * (gathers ? (size_t)size : 1));
    float* own = *data + (gathers ? count * (size_t)rank : 0);
    for (size_t k = 0; k < count; ++k) own[k] = (float)element(k, rank, type);
    batchai_coll_request* request = NULL;
    expect(i % 3 == 0 ? batchai_coll_allreduce_async(comm, own, own, count, type, BATCHAI_COLL_SUM,
                                                     NULL, &request)
           : gathers  ? batchai_coll_allgather_async(comm, own, *data, count, type, &request)
                      : batchai_coll_broadcast_async(comm, own, count, type, i % size, &request),
           "starting an operation");
    return request;
}

static void check_one(int i, const float* data) {
    const size_t count = async_counts[i % 4];
    const int gathers = i % 3 == 2;
    const batchai_coll_type type = BATCHAI_COLL_FLOAT32;
    for (size_t k = 0; k < count; ++k) {
        const double wanted = i % 3 == 0 ? reduced(k, type, BATCHAI_COLL_SUM)
                              : gathers  ? element(k, size - 1, type)
                                         : element(k, i % size, type);
        if (data[gathers ? count * (size_t)(size - 1) + k : k] != (float)wanted) {
            fail("async: a wrong element");
        }
    }
}

static void async(void) {
    batchai_coll_request* requests[kOperations];
    float* data[kOperations];
    for (int i = 0; i < kOperations; ++i) requests[i] = start_one(i, &data[i]);
    for (int i = kOperations - 1; i >= 0; --i) {  // the last one first
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        if (i % 2 == 0) status = batchai_coll_wait(requests[i]);
        while (status == BATCHAI_COLL_IN_PROGRESS) {
            usleep(50);
            status = batchai_coll_test(requests[i]);
        }
        expect(status, "async");
        check_one(i, data[i]);
        free(data[i]);
    }
}

static void again(void) {
    for (int i = 0; i < 2; ++i) {
        check_allreduce(1000 + (size_t)i, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, 0);
        expect(batchai_coll_finalize(comm), "finalize");
        start();
    }
    check_allreduce(100000, BATCHAI_COLL_FLOAT64, BATCHAI_COLL_MAX, 1);
}

// The same numbers, alone and within messages of several sizes: equal bits, also on all ranks.
static void check_bits(batchai_coll_type type, batchai_coll_op op,
                       const batchai_coll_scaling* scaling) {
    enum { kFew = 5, kMany = 300007 };
    static const size_t sizes[] = {kFew, 40, 1000, 70000, kMany};
    const size_t one = bytes_of(type), few = kFew * one;
    char *many = memory(kMany * one), *all = memory(few * (size_t)size), first[kFew * 8];
    for (int s = 0; s < 5; ++s) {
        char* now = many + (sizes[s] - kFew) * one;  // the message's end
        for (size_t i = 0; i < sizes[s]; ++i) {
            const size_t which = (i + kFew - sizes[s] % kFew) % kFew;
            put(many, i, type, sin((double)(which + 1) * (rank + 1)) * 1e3);
        }
        expect(batchai_coll_allreduce(comm, many, many, sizes[s], type, op, scaling), "allreduce");
        if (s == 0) memcpy(first, now, few);
        if (memcmp(first, now, few) != 0) fail("bits: they depend on the message's size");
        expect(batchai_coll_allgather(comm, now, all, few, BATCHAI_COLL_UINT8), "allgather");
        for (int r = 0; r < size; ++r) {
            if (memcmp(all + few * (size_t)r, now, few) != 0) fail("bits: ranks differ");
        }
    }
    free(many);
    free(all);
}

static void bits(void) {
    static const batchai_coll_type types[] = {BATCHAI_COLL_FLOAT32, BATCHAI_COLL_FLOAT64,
                                              BATCHAI_COLL_FLOAT16, BATCHAI_COLL_BFLOAT16};
    for (int t = 0; t < 4; ++t) {
        static const batchai_coll_scaling scaling = {0.3, 0.7};
        check_bits(types[t], BATCHAI_COLL_SUM, NULL);
        check_bits(types[t], BATCHAI_COLL_AVERAGE, &scaling);
    }
}

// More than 2^31 bytes of addresses on little memory: the first kPeriod bytes again and again, and
// memory of its own at the end. The period is no power of two: a wrong multiple of 2^31 shows.
static const size_t kPeriod = (size_t)31 << 20, kLarge = ((size_t)1 << 31) + 4;
#define LAST (kLarge / kPeriod * kPeriod)

static void* window(void) {
    const int fd = memfd_create("window", MFD_CLOEXEC);
    char* data =
        mmap(NULL, LAST + kPeriod, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fd < 0 || ftruncate(fd, 2 * (off_t)kPeriod) != 0 || data == MAP_FAILED) fail("window");
    for (size_t at = 0; at <= LAST; at += kPeriod) {
        if (mmap(data + at, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                 fd, at == LAST ? (off_t)kPeriod : 0) == MAP_FAILED) {
            fail("window");
        }
    }
    close(fd);
    return data;
}

static void large_allreduce(int32_t* in, int32_t* out) {
    const size_t count = kLarge / sizeof(int32_t), period = kPeriod / sizeof(int32_t);
    const size_t last = LAST / sizeof(int32_t);
    for (size_t i = 0; i < count; i = i == period - 1 ? last : i + 1) {
        in[i] = (int32_t)(i % period) + rank;
    }
    expect(batchai_coll_allreduce(comm, in, out, count, BATCHAI_COLL_INT32, BATCHAI_COLL_SUM, NULL),
           "allreduce");
    for (size_t i = 0; i < count; i += i < last ? 9973 : 1) {
        if (out[i] != size * (int32_t)(i % period) + size * (size - 1) / 2) {
            fail("large: allreduce: a wrong element");
        }
    }
}

static void check_large(const uint8_t* data, const char* what) {
    for (size_t i = 0; i < kLarge; i += i < LAST ? 9973 : 1) {
        if (data[i] != i % kPeriod % 251 + 1) fail(what);
    }
}

static void large_copies(uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < kLarge; i = i == kPeriod - 1 ? LAST : i + 1) {
        from[i] = (uint8_t)(i % kPeriod % 251 + 1);
    }
    memset(to, 0, kPeriod);
    memset(to + LAST, 0, kPeriod);
    const size_t block = kLarge / (size_t)size;  // of 1, 2, 3, 4 or 6 ranks nothing remains
    expect(batchai_coll_allgather(comm, from + block * (size_t)rank, to, block, BATCHAI_COLL_UINT8),
           "allgather");
    check_large(to, "large: allgather: a wrong element");
    memset(from, 0, kPeriod);
    memset(from + LAST, 0, kPeriod);
    uint8_t* data = rank == size - 1 ? to : from;
    expect(batchai_coll_broadcast(comm, data, kLarge, BATCHAI_COLL_UINT8, size - 1), "broadcast");
    check_large(data, "large: broadcast: a wrong element");
}

static void large(void) {
    void *one = window(), *other = window();
    large_allreduce(one, other);
    large_copies(one, other);
}

static void arguments(void) {
    float data[4] = {1, 1, 1, 1};
    const batchai_coll_status refused = BATCHAI_COLL_ERR_ARGUMENT;
    expect_status(
        batchai_coll_allreduce(comm, data, data, 4, BATCHAI_COLL_BOOL, BATCHAI_COLL_AVERAGE, NULL),
        refused);
    expect_status(batchai_coll_allreduce(comm, data, data + 1, 3, BATCHAI_COLL_FLOAT32,
                                         BATCHAI_COLL_SUM, NULL),
                  refused);
    expect_status(
        batchai_coll_allreduce(comm, NULL, data, 3, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, NULL),
        refused);
    expect_status(
        batchai_coll_allreduce(comm, data, data, 4, BATCHAI_COLL_FLOAT32, (batchai_coll_op)7, NULL),
        refused);
    expect_status(batchai_coll_allreduce(comm, data, data, SIZE_MAX / 2, BATCHAI_COLL_FLOAT32,
                                         BATCHAI_COLL_SUM, NULL),
                  refused);
    const batchai_coll_scaling half = {0.5, 1}, nothing = {1, (double)NAN};
    expect_status(
        batchai_coll_allreduce(comm, data, data, 4, BATCHAI_COLL_INT32, BATCHAI_COLL_SUM, &half),
        refused);
    expect_status(batchai_coll_allreduce(comm, data, data, 4, BATCHAI_COLL_FLOAT32,
                                         BATCHAI_COLL_SUM, &nothing),
                  refused);
    expect_status(batchai_coll_broadcast(comm, data, 4, BATCHAI_COLL_FLOAT32, size), refused);
    expect_status(batchai_coll_broadcast(comm, data, 4, (batchai_coll_type)9, 0), refused);
    expect_status(batchai_coll_init(NULL), refused);
    expect_status(batchai_coll_wait(NULL), refused);
    check_allreduce(4, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, 0);
}

// The last rank calls something else.
static void mismatch(const char* kind) {
    static int64_t data[100000], gathered[800000];
    const int odd = rank == size - 1;
    check_allreduce(1000, BATCHAI_COLL_INT32, BATCHAI_COLL_SUM, 0);
    batchai_coll_status status;
    if (strcmp(kind, "root") == 0) {
        status = batchai_coll_broadcast(comm, data, 10, BATCHAI_COLL_INT64, odd);
    } else if (strcmp(kind, "kind") == 0) {
        status = odd ? batchai_coll_allgather(comm, data, gathered, 10, BATCHAI_COLL_INT64)
                     : batchai_coll_broadcast(comm, data, 10, BATCHAI_COLL_INT64, 0);
    } else if (strcmp(kind, "factor") == 0) {
        const batchai_coll_scaling scaling = {odd ? 0.5 : 0.25, 1};
        status = batchai_coll_allreduce(comm, data, data, 7, BATCHAI_COLL_FLOAT64, BATCHAI_COLL_SUM,
                                        &scaling);
    } else if (strcmp(kind, "missing") == 0) {
        status = odd ? batchai_coll_finalize(comm)
                     : batchai_coll_allreduce(comm, data, data, 5, BATCHAI_COLL_INT64,
                                              BATCHAI_COLL_SUM, NULL);
        if (odd) comm = NULL;
    } else {
        const size_t count = odd && strcmp(kind, "count") == 0 ? 99999 : 7;
        const batchai_coll_type type =
            odd && strcmp(kind, "type") == 0 ? BATCHAI_COLL_FLOAT64 : BATCHAI_COLL_INT64;
        const batchai_coll_op op =
            odd && strcmp(kind, "op") == 0 ? BATCHAI_COLL_MAX : BATCHAI_COLL_SUM;
        status = batchai_coll_allreduce(comm, data, data, count, type, op, NULL);
    }
    expect_status(status, BATCHAI_COLL_ERR_MISMATCH);
    printf("rank %d: %s\n", rank, batchai_coll_last_error());
    if (comm != NULL) expect_status(batchai_coll_barrier(comm), BATCHAI_COLL_ERR_MISMATCH);
}

// Reduces until something is wrong.
static void until(batchai_coll_status wanted) {
    static float data[100000];
    batchai_coll_status status;
    do {
        status = batchai_coll_allreduce(comm, data, data, 100000, BATCHAI_COLL_FLOAT32,
                                        BATCHAI_COLL_SUM, NULL);
    } while (status == BATCHAI_COLL_OK);
    expect_status(status, wanted);
    printf("rank %d: %s\n", rank, batchai_coll_last_error());
}

static void lost(int signal, int victim) {
    check_allreduce(100000, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, 0);
    if (rank != victim) return until(BATCHAI_COLL_ERR_PEER);
    // Now sooner, now later, while the others are at any stage of an operation.
    static float data[100000];
    for (int i = (int)getpid() % 16; i > 0; --i) {
        expect(batchai_coll_allreduce(comm, data, data, 100000, BATCHAI_COLL_FLOAT32,
                                      BATCHAI_COLL_SUM, NULL),
               "allreduce");
    }
    if (signal != 0) raise(signal);
    _exit(0);
}

static void late(int victim) {
    check_allreduce(100000, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, 0);
    if (rank == victim) sleep(5);  // the test's BATCHAI_COLL_TIMEOUT is shorter
    until(BATCHAI_COLL_ERR_TIMEOUT);
}

static void sum_of_seven(void) {
    int64_t numbers[7] = {0};
    expect(batchai_coll_allreduce(comm, numbers, numbers, 7, BATCHAI_COLL_INT64, BATCHAI_COLL_SUM,
                                  NULL),
           "allreduce");
}

static void stuck(int victim, const char* file) {
    sum_of_seven();
    if (rank == victim) {
        printf("rank %d waits for a file\n", rank);
        fflush(stdout);
        while (access(file, F_OK) != 0) usleep(10000);
    }
    sum_of_seven();
}

static void linger(int late, const char* file) {
    sum_of_seven();
    expect(batchai_coll_finalize(comm), "finalize");
    comm = NULL;
    if (rank != late) return;
    while (access(file, F_OK) != 0) usleep(10000);
    usleep(300000);
}

static void run(const char* mode, const char* argument, const char* file) {
    if (strcmp(mode, "places") == 0) return places();
    if (strcmp(mode, "matrix") == 0) return matrix();
    if (strcmp(mode, "async") == 0) return async();
    if (strcmp(mode, "again") == 0) return again();
    if (strcmp(mode, "bits") == 0) return bits();
    if (strcmp(mode, "large") == 0) return large();
    if (strcmp(mode, "arguments") == 0) return arguments();
    if (strcmp(mode, "mismatch") == 0) return mismatch(argument);
    if (strcmp(mode, "killed") == 0) return lost(SIGKILL, atoi(argument));
    if (strcmp(mode, "left") == 0) return lost(0, atoi(argument));
    if (strcmp(mode, "late") == 0) return late(atoi(argument));
    if (strcmp(mode, "stuck") == 0) return stuck(atoi(argument), file);
    if (strcmp(mode, "busy") == 0) return busy(argument);
    if (strcmp(mode, "linger") == 0) return linger(atoi(argument), file);
    fprintf(stderr, "collectives_check: no mode '%s'\n", mode);
    exit(64);
}

int main(int count, char** words) {
    start();
    run(count > 1 ? words[1] : "", count > 2 ? words[2] : "", count > 3 ? words[3] : "");
    if (comm != NULL) expect(batchai_coll_finalize(comm), "finalize");
    printf("rank %d of %d is fine\n", rank, size);
    return 0;
}
