// SPDX-License-Identifier: Apache-2.0
//
// A plain PMIx client.
// pmix_check exchange             put, commit, fence, and get everybody's value
// pmix_check direct               get a value that no fence carried
// pmix_check publish              publish, look up, unpublish
// pmix_check wait                 look up what is published later
// pmix_check fences COUNT BYTES   so many fences, to each of which every rank gives so many bytes
// pmix_check absent RANK CODE     RANK exits before a fence; the others say what the fence returned
// pmix_check abort RANK CODE
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t size;

static void expect(pmix_status_t status, const char* what) {
    if (status == PMIX_SUCCESS) return;
    fprintf(stderr, "rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(status));
    exit(9);
}

static void put(const char* key, int number) {
    pmix_value_t value;
    char text[64];
    snprintf(text, sizeof text, "%s of %d", key, number);
    PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
    expect(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
    PMIX_VALUE_DESTRUCT(&value);
    expect(PMIx_Commit(), "commit");
}

static void get(const char* key, uint32_t rank) {
    pmix_proc_t proc;
    pmix_value_t* value = NULL;
    char text[64];
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    expect(PMIx_Get(&proc, key, NULL, 0, &value), "get");
    snprintf(text, sizeof text, "%s of %u", key, rank);
    if (value->type != PMIX_STRING || strcmp(value->data.string, text) != 0) exit(8);
    PMIX_VALUE_RELEASE(value);
}

static pmix_status_t fence(int collect) {
    pmix_proc_t all;
    pmix_info_t info;
    bool yes = collect != 0;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    return PMIx_Fence(&all, 1, &info, 1);
}

static void exchange(void) {
    for (int round = 0; round < 3; ++round) {
        char key[32];
        snprintf(key, sizeof key, "value%d", round);
        put(key, (int)me.rank);
        expect(fence(1), "fence");
        for (uint32_t rank = 0; rank < size; ++rank) get(key, rank);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// Every rank checks what its neighbour gave last; rank 0 says how long a fence took, in ms.
static void fences(int count, size_t bytes) {
    double* took = calloc((size_t)count, sizeof *took);
    pmix_value_t value, *got = NULL;
    pmix_proc_t next;
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.size = bytes;
    value.data.bo.bytes = malloc(bytes + 1);
    PMIX_LOAD_PROCID(&next, me.nspace, (me.rank + 1) % size);
    for (int i = 0; i < count; ++i) {
        memset(value.data.bo.bytes, (int)me.rank + i, bytes);
        char key[32];
        snprintf(key, sizeof key, "block%d", i);
        if (bytes > 0) {
            expect(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
            expect(PMIx_Commit(), "commit");
        }
        took[i] = -now();
        expect(fence(bytes > 0), "fence");
        took[i] += now();
        if (bytes == 0) continue;
        expect(PMIx_Get(&next, key, NULL, 0, &got), "get");
        if (got->data.bo.size != bytes ||
            got->data.bo.bytes[bytes - 1] != (char)(next.rank + (uint32_t)i))
            exit(8);
        PMIX_VALUE_RELEASE(got);
    }
    qsort(took, (size_t)count, sizeof *took, ascending);
    if (me.rank == 0)
        printf("a fence of %u ranks with %zu bytes each: %.3f ms\n", size, bytes, took[count / 2]);
}

static void direct(void) {
    if (me.rank == 0) sleep(1); /* the others must wait for it */
    put("late", (int)me.rank);
    for (uint32_t rank = 0; rank < size; ++rank) get("late", rank);
    expect(fence(0), "fence");
}

static void publish(void) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, "batchai.check", "text", PMIX_STRING);
    if (me.rank == 0) expect(PMIx_Publish(&info, 1), "publish");
    PMIX_INFO_DESTRUCT(&info);
}

static void lookup(int wait) {
    pmix_pdata_t data;
    pmix_info_t info;
    int all = 0;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "batchai.check");
    PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
    expect(PMIx_Lookup(&data, 1, wait ? &info : NULL, wait ? 1 : 0), "lookup");
    if (data.value.type != PMIX_STRING || strcmp(data.value.data.string, "text") != 0) exit(7);
    if (data.proc.rank != 0) exit(6);
    PMIX_PDATA_DESTRUCT(&data);
}

static void unpublish(void) {
    char* keys[] = {"batchai.check", NULL};
    pmix_pdata_t data;
    expect(fence(0), "fence");
    if (me.rank == 0) expect(PMIx_Unpublish(keys, NULL, 0), "unpublish");
    expect(fence(0), "fence");
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "batchai.check");
    if (PMIx_Lookup(&data, 1, NULL, 0) == PMIX_SUCCESS) exit(5);
}

static void run(int argc, char** argv) {
    const int named = argc > 3 && me.rank == (uint32_t)atoi(argv[2]);
    if (strcmp(argv[1], "exchange") == 0) {
        exchange();
    } else if (strcmp(argv[1], "fences") == 0) {
        fences(atoi(argv[2]), (size_t)atol(argv[3]));
    } else if (strcmp(argv[1], "direct") == 0) {
        direct();
    } else if (strcmp(argv[1], "publish") == 0) {
        publish();
        expect(fence(0), "fence");
        lookup(0);
        unpublish();
    } else if (strcmp(argv[1], "wait") == 0) {
        if (me.rank == 0) sleep(1);
        publish();
        lookup(1);
        unpublish();
    } else if (strcmp(argv[1], "absent") == 0) {
        if (named) _exit(atoi(argv[3]));
        const pmix_status_t status = fence(0);
        fprintf(stderr, "fence: %s\n", PMIx_Error_string(status));
        sleep(20);
    } else if (strcmp(argv[1], "abort") == 0) {
        if (named) PMIx_Abort(atoi(argv[3]), "on purpose", NULL, 0);
        sleep(20);
    }
}

int main(int argc, char** argv) {
    pmix_proc_t all;
    pmix_value_t* value = NULL;
    expect(PMIx_Init(&me, NULL, 0), "init");
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    expect(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "size");
    size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    run(argc, argv);
    printf("rank %u of %u is fine\n", me.rank, size);
    expect(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}
