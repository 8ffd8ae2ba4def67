// SPDX-License-Identifier: Apache-2.0
//
// A rank of a job that uses libbatchai_collectives, in C: operations on a block for each rank, and
// communicators of some of the ranks. Prints "rank R of N is fine" where everything was as
// expected; exits 9 after a sentence where not.
//
// blocks_check MODE, where MODE is one of
//
//   blocks     all operations on blocks, of many lengths
//   lengths    ranks disagree on the lengths of blocks; all get MISMATCH
//   split      communicators of even ranks, odd ranks and the last two, all at work at once
//   arguments  what is refused; the communicator survives it
#include <string.h>

#include "rank.h"

enum { kMost = 64, kRoom = 1 << 20 };

static void refused(batchai_coll_status status, const char* what) {
    if (status != BATCHAI_COLL_ERR_ARGUMENT) fail(what);
}

static int32_t number(int from, int to, size_t i) {
    return (int32_t)((size_t)(from * 1000 + to * 10) + i * 7);
}

// What `from` has for `to`: often nothing, sometimes much.
static size_t length(int from, int to, size_t scale) {
    return (from + to) % 3 == 0 ? 0 : scale / (size_t)(1 + (from + 2 * to) % 4);
}

// ---- blocks ------------------------------------------------------------------------------------

static int32_t send[kRoom], receive[kRoom];

static void try_allgatherv(batchai_coll_comm* of, int me, int ranks, size_t scale) {
    size_t counts[kMost];
    for (int r = 0; r < ranks; ++r) counts[r] = length(r, r, scale);
    for (size_t i = 0; i < counts[me]; ++i) send[i] = number(me, 0, i);
    expect(batchai_coll_allgatherv(of, send, receive, counts, BATCHAI_COLL_INT32), "allgatherv");
    const int32_t* at = receive;
    for (int r = 0; r < ranks; at += counts[r++]) {
        for (size_t i = 0; i < counts[r]; ++i) {
            if (at[i] != number(r, 0, i)) fail("allgatherv: a wrong number");
        }
    }
}

static void try_alltoallv(batchai_coll_comm* of, int me, int ranks, size_t scale, int equal) {
    size_t sent[kMost], received[kMost], out = 0;
    for (int r = 0; r < ranks; ++r) {
        sent[r] = equal ? scale : length(me, r, scale);
        received[r] = equal ? scale : length(r, me, scale);
        for (size_t i = 0; i < sent[r]; ++i) send[out++] = number(me, r, i);
    }
    memset(receive, 0xff, sizeof receive);
    expect(equal ? batchai_coll_alltoall(of, send, receive, scale, BATCHAI_COLL_INT32)
                 : batchai_coll_alltoallv(of, send, sent, receive, received, BATCHAI_COLL_INT32),
           "alltoall");
    const int32_t* at = receive;
    for (int r = 0; r < ranks; at += received[r++]) {
        for (size_t i = 0; i < received[r]; ++i) {
            if (at[i] != number(r, me, i)) fail("alltoall: a wrong number");
        }
    }
    if (*at != -1) fail("alltoall: something behind the last number");
}

// Rank r's block of from's data: length(r, r) numbers, counted on from block to block.
static void try_reduce_scatter(batchai_coll_comm* of, int me, int ranks, size_t scale) {
    size_t counts[kMost], all = 0, mine = 0;
    for (int r = 0; r < ranks; ++r) {
        if (r == me) mine = all;
        all += counts[r] = length(r, r, scale);
    }
    for (size_t i = 0; i < all; ++i) send[i] = number(me, 0, i);
    receive[counts[me]] = -1;
    expect(batchai_coll_reduce_scatter(of, send, receive, counts, BATCHAI_COLL_INT32,
                                       BATCHAI_COLL_SUM, NULL),
           "reduce_scatter");
    for (size_t i = 0; i < counts[me]; ++i) {
        int32_t sum = 0;
        for (int r = 0; r < ranks; ++r) sum += number(r, 0, mine + i);
        if (receive[i] != sum) fail("reduce_scatter: a wrong number");
    }
    if (receive[counts[me]] != -1) fail("reduce_scatter: something behind the last number");
}

static void blocks(batchai_coll_comm* of) {
    const int me = batchai_coll_rank(of), ranks = batchai_coll_size(of);
    for (size_t scale = 0; scale <= (1 << 16); scale = scale == 0 ? 1 : scale * 4) {
        if (scale * (size_t)ranks >= kRoom) break;
        try_allgatherv(of, me, ranks, scale);
        try_reduce_scatter(of, me, ranks, scale);
        try_alltoallv(of, me, ranks, scale, 1);
        try_alltoallv(of, me, ranks, scale, 0);
    }
}

// ---- splits ------------------------------------------------------------------------------------

// A communicator of every step-th rank from the first; null on the other ranks.
static batchai_coll_comm* every(int step, int first) {
    int ranks[kMost];
    size_t count = 0;
    for (int r = first; r < size; r += step) ranks[count++] = r;
    batchai_coll_comm* part = NULL;
    expect(batchai_coll_split(comm, ranks, count, &part), "split");
    const int member = rank >= first && (rank - first) % step == 0;
    if (member != (part != NULL)) fail("split: a communicator for the wrong ranks");
    if (part == NULL) return NULL;
    if (batchai_coll_rank(part) != (rank - first) / step) fail("split: another rank");
    if (batchai_coll_size(part) != (int)count) fail("split: another size");
    return part;
}

// Sums that are started on all communicators at once.
static void sums(batchai_coll_comm** parts, int count) {
    batchai_coll_request* requests[kMost];
    static int64_t values[8][5000];
    for (int p = 0; p < count; ++p) {
        if (parts[p] == NULL) continue;
        for (int i = 0; i < 5000; ++i) values[p][i] = rank + i;
        expect(
            batchai_coll_allreduce_async(parts[p], values[p], values[p], 5000, BATCHAI_COLL_INT64,
                                         BATCHAI_COLL_MAX, NULL, &requests[p]),
            "allreduce");
    }
    for (int p = count - 1; p >= 0; --p) {
        if (parts[p] == NULL) continue;
        expect(batchai_coll_wait(requests[p]), "wait");
        for (int i = 0; i < 5000; ++i) {
            const int64_t last = p == 1   ? size - 1 - size % 2
                                 : p == 2 ? size - 1 - (size + 1) % 2
                                          : size - 1;
            if (values[p][i] != last + i) fail("allreduce: a wrong number");
        }
    }
}

static void split(void) {
    // All, odd ranks, even ranks, the last two.
    batchai_coll_comm* parts[] = {comm, every(2, 1), every(2, 0), every(1, size - 2)};
    for (int round = 0; round < 3; ++round) sums(parts, 4);
    for (int p = 1; p < 4; ++p) {
        if (parts[p] != NULL) blocks(parts[p]);
    }
    if (parts[3] != NULL) {
        refused(batchai_coll_finalize(comm), "finalize with a communicator left");
        const int both[] = {0, 1};
        batchai_coll_comm* again = NULL;
        expect(batchai_coll_split(parts[3], both, 2, &again), "split of a split");
        blocks(again);
        expect(batchai_coll_finalize(again), "finalize");
    }
    for (int p = 1; p < 4; ++p) expect(batchai_coll_finalize(parts[p]), "finalize");
    blocks(comm);
}

// ---- what is wrong -----------------------------------------------------------------------------

static void lengths(void) {
    size_t counts[kMost], others[kMost];
    for (int r = 0; r < size; ++r) counts[r] = others[r] = 10;
    if (rank == size - 1) counts[0] = 11;
    if (batchai_coll_alltoallv(comm, send, counts, receive, others, BATCHAI_COLL_INT32) !=
        BATCHAI_COLL_ERR_MISMATCH) {
        fail("another status");
    }
    printf("rank %d: %s\n", rank, batchai_coll_last_error());
}

static void arguments(void) {
    size_t counts[kMost], large[kMost];
    for (int r = 0; r < size; ++r) counts[r] = 10, large[r] = (size_t)-1 / 8;
    const int descending[] = {1, 0}, none[] = {size};
    batchai_coll_comm* part = NULL;
    const batchai_coll_type type = BATCHAI_COLL_INT32;
    refused(batchai_coll_split(comm, descending, 2, &part), "descending");
    refused(batchai_coll_split(comm, none, 1, &part), "no such rank");
    refused(batchai_coll_split(comm, none, 0, &part), "no ranks");
    refused(batchai_coll_split(comm, none, 1, NULL), "nowhere to put it");
    refused(batchai_coll_allgatherv(comm, send, receive, NULL, type), "no counts");
    refused(batchai_coll_allgatherv(comm, send, receive, large, type), "too much");
    refused(batchai_coll_allgatherv(comm, receive + 1, receive, counts, type), "overlap");
    refused(batchai_coll_alltoall(comm, send, send, 10, type), "in place");
    refused(batchai_coll_alltoall(comm, NULL, receive, 10, type), "no buffer");
    refused(batchai_coll_alltoallv(comm, send, counts, receive, NULL, type), "no counts");
    refused(batchai_coll_alltoallv(comm, send, large, receive, large, type), "too much");
    refused(batchai_coll_reduce_scatter(comm, send, send, counts, type, BATCHAI_COLL_SUM, NULL),
            "in place");
    refused(batchai_coll_reduce_scatter(comm, send, receive, counts, type, 9, NULL), "no such op");
    refused(batchai_coll_broadcast(comm, receive, 1, type, size), "no such root");
    blocks(comm);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    start();
    if (strcmp(mode, "blocks") == 0) {
        blocks(comm);
    } else if (strcmp(mode, "lengths") == 0) {
        lengths();
    } else if (strcmp(mode, "split") == 0) {
        split();
    } else if (strcmp(mode, "arguments") == 0) {
        arguments();
    } else {
        fprintf(stderr, "blocks_check: unknown mode '%s'\n", mode);
        return 2;
    }
    expect(batchai_coll_finalize(comm), "finalize");
    printf("rank %d of %d is fine\n", rank, size);
    return 0;
}
