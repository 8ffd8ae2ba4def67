/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbatchai_collectives: collective operations between the ranks of a job, in C.
 *
 * Bootstraps through PMIx (any PMIx launcher: batchai-launch, srun --mpi=pmix, mpirun; a process
 * without a PMIx server is a job of one rank). Inside a node data goes through shared memory,
 * between nodes through UCX.
 *
 * Calling: every rank of a communicator makes the same sequence of collective calls with matching
 * arguments; a mismatch is an error on all ranks (BATCHAI_COLL_ERR_MISMATCH), never a hang.
 * Nor is a rank that dies or is stopped, a cable that is cut, or a node that is gone: a thread in
 * each rank looks after the others, and all that are left get BATCHAI_COLL_ERR_PEER, in what they
 * wait for or in their next call, with a sentence that says who it is and which operations wait, by
 * their labels.
 * Counts are elements and size_t; any count, zero included. Send and receive buffers are either
 * the same (in place; of an allgather: send is this rank's block of receive) or do not overlap.
 * Buffers are in host memory, at any address, but for those of batchai_coll_device; they belong to
 * the caller and must stay untouched until the operation has completed.
 *
 * Threads: one thread at a time may use a communicator and its requests, but for
 * batchai_coll_abort. A child of fork() does not use them. Errors: every function
 * returns a batchai_coll_status; batchai_coll_last_error() has the sentence. After an error other
 * than BATCHAI_COLL_ERR_ARGUMENT the communicator only answers with that error until it is
 * finalized. Then all ranks may call init again, in the same processes, any number of times, if all
 * of them are there: a rank whose process has ended has to be started again, with all others, by
 * the launcher. After finalize a rank's next program may call init, in step with all other ranks;
 * so may a process that has unloaded this library and loaded it again.
 *
 * Results: for the same ranks on the same nodes, the bits of a reduction depend on the reduced
 * numbers alone, not on the count, the place in the buffer, the algorithm or the processor's
 * instruction set; but where several are NaN, any of them may be the result.
 *
 * Environment: BATCHAI_COLL_TIMEOUT: seconds without any progress of an operation until
 * BATCHAI_COLL_ERR_TIMEOUT (default 600; 0: never); of ranks that are alive, and compute for so
 * long or wait for something else. BATCHAI_COLL_WATCH="process=2,node=5,stall=30": seconds until a
 * rank whose process has ended, a node that does not answer, and a rank that is stopped are
 * BATCHAI_COLL_ERR_PEER, from 0.1 on (default: these; 0: never; the same on all ranks). Init waits
 * for all ranks for as long as the launcher does. BATCHAI_COLL_NODE: the name of the node that this
 * rank counts as (default: the host's). UCX_TLS, UCX_NET_DEVICES and the like: as in UCX, for the
 * traffic between nodes. BATCHAI_COLL_ALGORITHM: what is to combine the nodes' results, whatever it
 * costs: recursive-doubling, halving-doubling, direct or ring, of which the ring does not keep the
 * promise about bits. BATCHAI_COLL_DEBUG=plan: rank 0 prints batchai_coll_plan() to stderr in init.
 * BATCHAI_COLL_PROGRESS: a file of the launcher's in which it sees what this rank is doing.
 */
#ifndef BATCHAI_COLLECTIVES_H
#define BATCHAI_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATCHAI_COLL_API __attribute__((visibility("default")))

typedef enum {
    BATCHAI_COLL_OK = 0,
    BATCHAI_COLL_IN_PROGRESS = 1, /* of batchai_coll_test and _ticket_test only */
    BATCHAI_COLL_ERR_ARGUMENT = -1,
    BATCHAI_COLL_ERR_MISMATCH = -2, /* ranks disagree on operation, type, count or factors */
    BATCHAI_COLL_ERR_TIMEOUT = -3,  /* a rank did not arrive in time */
    BATCHAI_COLL_ERR_PEER = -4,     /* a rank died, stands still, or cannot be reached */
    BATCHAI_COLL_ERR_SYSTEM = -5,   /* memory, PMIx, UCX, shared memory */
    BATCHAI_COLL_ERR_ABORTED = -6   /* batchai_coll_abort was called */
} batchai_coll_status;

typedef enum {
    BATCHAI_COLL_FLOAT32 = 0,
    BATCHAI_COLL_FLOAT64 = 1,
    BATCHAI_COLL_INT32 = 2,
    BATCHAI_COLL_INT64 = 3,
    BATCHAI_COLL_UINT8 = 4, /* where nothing is reduced: bytes of any type */
    BATCHAI_COLL_INT8 = 5,
    BATCHAI_COLL_FLOAT16 = 6, /* IEEE 754 binary16 */
    BATCHAI_COLL_BFLOAT16 = 7,
    BATCHAI_COLL_BOOL = 8 /* a byte; any but 0 is true, results are 0 or 1 */
} batchai_coll_type;

/* Average divides the sum by the number of ranks; integers truncate toward zero, booleans have
 * none. Integers wrap around. Of booleans, sum and max are "or", product and min "and". Min and max
 * propagate NaN. Numbers of 16 bits are computed as float32 and rounded, to the nearest and ties to
 * even, at most twice however many ranks there are: each node's partial result where there are
 * several nodes, and the result. */
typedef enum {
    BATCHAI_COLL_SUM = 0,
    BATCHAI_COLL_AVERAGE = 1,
    BATCHAI_COLL_MIN = 2,
    BATCHAI_COLL_MAX = 3,
    BATCHAI_COLL_PRODUCT = 4
} batchai_coll_op;

/* What a reduction multiplies every input by as it reads it, and the result by at the end: numbers,
 * the same on all ranks. Computed as float32, of BATCHAI_COLL_FLOAT64 as double, without a rounding
 * of its own for numbers of 16 bits. Of floating types only; integers take 1 and 1. An average is
 * divided before it is multiplied. */
typedef struct {
    double before;
    double after;
} batchai_coll_scaling;

typedef struct batchai_coll_comm batchai_coll_comm;       /* ranks that work together */
typedef struct batchai_coll_request batchai_coll_request; /* an operation in flight */

/* "1.2.3". Static storage. */
BATCHAI_COLL_API const char* batchai_coll_version(void);
/* What went wrong last on the calling thread; valid until its next call. */
BATCHAI_COLL_API const char* batchai_coll_last_error(void);
/* "mismatch", "timeout", …: a status in a word. Static storage. */
BATCHAI_COLL_API const char* batchai_coll_status_name(batchai_coll_status status);

/* Collective over all ranks of the job; an error on one rank is an error on all. The caller owns
 * *comm and ends it with finalize, which is collective too unless there was an error, waits for the
 * others, and may be followed by another init. The communicator and its requests are gone after
 * finalize, whatever it returns. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_init(batchai_coll_comm** comm);
BATCHAI_COLL_API batchai_coll_status batchai_coll_finalize(batchai_coll_comm* comm);

/* A communicator of some ranks of another one, which they are the ranks 0, 1, … of: `count` of
 * them, ascending. Collective over all ranks of comm, with the same list; *part is null on those
 * that are not listed. It works beside comm, and is to be finalized before it. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_split(batchai_coll_comm* comm, const int* ranks,
                                                        size_t count, batchai_coll_comm** part);

/* An allgather that ranks have otherwise: `bytes` bytes of each, as many on all, to all of them, in
 * order of rank. Returns 0, or another number where it has failed. */
typedef int (*batchai_coll_exchange)(void* context, const void* own, size_t bytes, void* all);

/* A communicator of ranks of comm that find each other by an exchange of theirs: this process is
 * number `rank` of `size`. Collective over these ranks only. Calls exchange(context, …) a few
 * times before it returns, equally often on all of them. Any thread may call it, beside operations
 * of comm. It is to be finalized before comm. An exchange that ends for some of the ranks only has
 * to fail for the others by itself, after some time. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_group(batchai_coll_comm* comm, int rank, int size,
                                                        batchai_coll_exchange exchange,
                                                        void* context, batchai_coll_comm** part);

/* All ranks of the job fail with BATCHAI_COLL_ERR_ABORTED, a sentence that begins with who has
 * aborted, and `why` (null: nothing): in what they wait for, at once, and in what they call next.
 * It ends the communicator that init has made and all that were split from it, whichever of them
 * comm is. Any thread may call it, while another one waits; not beside or after finalize. The first
 * failure holds: there may have been another one. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_abort(batchai_coll_comm* comm, const char* why);

BATCHAI_COLL_API int batchai_coll_rank(const batchai_coll_comm* comm);
BATCHAI_COLL_API int batchai_coll_size(const batchai_coll_comm* comm);
BATCHAI_COLL_API int batchai_coll_local_rank(const batchai_coll_comm* comm);
BATCHAI_COLL_API int batchai_coll_local_size(const batchai_coll_comm* comm); /* of this node */
BATCHAI_COLL_API int batchai_coll_node_rank(const batchai_coll_comm* comm); /* index of this node */
BATCHAI_COLL_API int batchai_coll_node_count(const batchai_coll_comm* comm);

/* Memory for buffers, of which the other ranks of the node know where it is: `bytes` of this
 * rank's, any number, zero, from the begin of a page on. Allreduces and reduces of comm read a
 * buffer that lies in it where it is, and allreduces of ranks of one node write it there, instead
 * of copying it through shared memory: about twice as fast for long messages (docs/collectives.md).
 * For all else it is memory like any other, but that a child of fork() shares it. Results have the
 * same bits.
 *
 * Allocate and free are collective, in the same order on all ranks. If memory is lacking on one, it
 * is BATCHAI_COLL_ERR_SYSTEM on all, and the communicator stays of use. Free waits for comm's
 * operations on all ranks. What has not been freed is gone with finalize. After any other error a
 * rank that is late may still write into the others' memory of this kind, until it has learned of
 * the error. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allocate(batchai_coll_comm* comm, size_t bytes,
                                                           void** memory);
BATCHAI_COLL_API batchai_coll_status batchai_coll_free(batchai_coll_comm* comm, void* memory);

/* Which algorithms are taken for messages of which size, and what they are expected to cost, in
 * some lines for people. Valid until finalize. */
BATCHAI_COLL_API const char* batchai_coll_plan(const batchai_coll_comm* comm);

/* What the operations from here on are for ("grad.3"), as reports of a hang are to say it: at most
 * 63 bytes of it are kept; null or empty: nothing. Costs next to nothing. */
BATCHAI_COLL_API void batchai_coll_label(batchai_coll_comm* comm, const char* label);

/* Asynchronous operations run in the order in which they were started; *request is freed by the
 * wait or test that reports its completion. Progress is made in any call on the communicator. */
/* scaling may be null: no factors. It is copied. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allreduce_async(
    batchai_coll_comm* comm, const void* send, void* receive, size_t count, batchai_coll_type type,
    batchai_coll_op op, const batchai_coll_scaling* scaling, batchai_coll_request** request);
/* The same, but only the root gets the result; on other ranks receive is not used. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_reduce_async(
    batchai_coll_comm* comm, const void* send, void* receive, size_t count, batchai_coll_type type,
    batchai_coll_op op, const batchai_coll_scaling* scaling, int root,
    batchai_coll_request** request);
/* send holds a block for each rank, one after another in rank order, counts[r] elements for rank r:
 * the same numbers on all ranks. receive gets the reduction of this rank's blocks; it does not
 * overlap send. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_reduce_scatter_async(
    batchai_coll_comm* comm, const void* send, void* receive, const size_t* counts,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling,
    batchai_coll_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_broadcast_async(batchai_coll_comm* comm,
                                                                  void* buffer, size_t count,
                                                                  batchai_coll_type type, int root,
                                                                  batchai_coll_request** request);
/* receive holds size() * count elements, rank r's at r * count. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allgather_async(batchai_coll_comm* comm,
                                                                  const void* send, void* receive,
                                                                  size_t count,
                                                                  batchai_coll_type type,
                                                                  batchai_coll_request** request);
/* The same with blocks of different lengths, one after another in rank order: counts[r] elements of
 * rank r, the same numbers on all ranks. As everywhere, counts are copied. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allgatherv_async(batchai_coll_comm* comm,
                                                                   const void* send, void* receive,
                                                                   const size_t* counts,
                                                                   batchai_coll_type type,
                                                                   batchai_coll_request** request);
/* Both buffers hold size() * count elements: block r of send goes to rank r, block r of receive
 * comes from there. They do not overlap. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_alltoall_async(batchai_coll_comm* comm,
                                                                 const void* send, void* receive,
                                                                 size_t count,
                                                                 batchai_coll_type type,
                                                                 batchai_coll_request** request);
/* The same with blocks of different lengths: send_counts[r] elements to rank r, receive_counts[r]
 * from it, which is what that rank sends. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_alltoallv_async(
    batchai_coll_comm* comm, const void* send, const size_t* send_counts, void* receive,
    const size_t* receive_counts, batchai_coll_type type, batchai_coll_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_barrier_async(batchai_coll_comm* comm,
                                                                batchai_coll_request** request);

/* OK or an error: the request is gone. IN_PROGRESS (test only): call again. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_test(batchai_coll_request* request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_wait(batchai_coll_request* request);

/* The same, blocking. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allreduce(batchai_coll_comm* comm,
                                                            const void* send, void* receive,
                                                            size_t count, batchai_coll_type type,
                                                            batchai_coll_op op,
                                                            const batchai_coll_scaling* scaling);
BATCHAI_COLL_API batchai_coll_status batchai_coll_reduce(batchai_coll_comm* comm, const void* send,
                                                         void* receive, size_t count,
                                                         batchai_coll_type type, batchai_coll_op op,
                                                         const batchai_coll_scaling* scaling,
                                                         int root);
BATCHAI_COLL_API batchai_coll_status batchai_coll_reduce_scatter(
    batchai_coll_comm* comm, const void* send, void* receive, const size_t* counts,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling);
BATCHAI_COLL_API batchai_coll_status batchai_coll_broadcast(batchai_coll_comm* comm, void* buffer,
                                                            size_t count, batchai_coll_type type,
                                                            int root);
BATCHAI_COLL_API batchai_coll_status batchai_coll_allgather(batchai_coll_comm* comm,
                                                            const void* send, void* receive,
                                                            size_t count, batchai_coll_type type);
BATCHAI_COLL_API batchai_coll_status batchai_coll_allgatherv(batchai_coll_comm* comm,
                                                             const void* send, void* receive,
                                                             const size_t* counts,
                                                             batchai_coll_type type);
BATCHAI_COLL_API batchai_coll_status batchai_coll_alltoall(batchai_coll_comm* comm,
                                                           const void* send, void* receive,
                                                           size_t count, batchai_coll_type type);
BATCHAI_COLL_API batchai_coll_status
batchai_coll_alltoallv(batchai_coll_comm* comm, const void* send, const size_t* send_counts,
                       void* receive, const size_t* receive_counts, batchai_coll_type type);
BATCHAI_COLL_API batchai_coll_status batchai_coll_barrier(batchai_coll_comm* comm);

/*
 * The queue: named operations, submitted from any thread and in any order, which need not be the
 * same on all ranks, and done in the background in an order that is. Ranks negotiate what all of
 * them have submitted; small tensors are fused into one message; a job that repeats itself is
 * recognized, and goes on without negotiation. docs/collectives.md has the rules.
 *
 * From open to close the communicator belongs to the queue: nothing else of it is to be called, but
 * in operations of the caller's own. Every function may be called by any thread, but open, close
 * and free only when no other call is under way.
 */
typedef struct batchai_coll_queue batchai_coll_queue;
typedef struct batchai_coll_ticket batchai_coll_ticket; /* an operation that was submitted */

/* What a queue finds out for itself while it works. */
enum {
    BATCHAI_COLL_TUNE_FUSION = 1, /* the best fusion_bytes, in the first cycles of a job that
                                     repeats itself */
    BATCHAI_COLL_TUNE_CYCLE = 2   /* the best cycle, in the first steps of one that does not */
};

typedef struct {
    size_t fusion_bytes;   /* tensors are fused up to so many bytes; 0: none are */
    double cycle;          /* seconds that a tensor waits for others to be negotiated with it */
    size_t cache_capacity; /* operations that ranks know by number */
    int autotune;          /* some of BATCHAI_COLL_TUNE_*, added up; 0: nothing */
    double stall_warning;  /* seconds until stderr says who has not submitted what; 0: never */
    const int* numbers;    /* what messages call the ranks; null: by their numbers */
} batchai_coll_queue_options;

/* What is good for most. */
BATCHAI_COLL_API batchai_coll_queue_options batchai_coll_queue_defaults(void);

/* Collective, with the same options on all ranks; null: the defaults. Close is collective too: what
 * has not started fails, everything has ended, and all ranks leave together. Free takes the queue
 * and its tickets away, closed or not: a process that ends without its ranks does not close. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_queue_open(
    batchai_coll_comm* comm, const batchai_coll_queue_options* options, batchai_coll_queue** queue);
BATCHAI_COLL_API batchai_coll_status batchai_coll_queue_close(batchai_coll_queue* queue);
BATCHAI_COLL_API void batchai_coll_queue_free(batchai_coll_queue* queue);

typedef struct {
    const void* send;
    void* receive; /* may be send */
    size_t count;
    batchai_coll_type type;
} batchai_coll_tensor;

/* An allreduce of tensors, all of them or none. name: operations of one name on all ranks belong
 * together, and have to agree on everything but the buffers; null: the n-th one without a name
 * belongs to the others' n-th. details: what has to agree beside the tensors' types and counts, in
 * words that a message may repeat ("[2, 3]"); may be null. priority: of what is agreed on together,
 * higher ones come first. name, details, tensors and scaling are copied. BATCHAI_COLL_ERR_ARGUMENT
 * also where an operation of that name has not ended yet. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_allreduce(
    batchai_coll_queue* queue, const char* name, const char* details,
    const batchai_coll_tensor* tensors, size_t tensor_count, batchai_coll_op op,
    const batchai_coll_scaling* scaling, int priority, batchai_coll_ticket** ticket);

/* The same of tensors in the memory of a GPU (see below): of what batchai_coll_device_open calls
 * number, which is the same one in all of a rank's submissions to this queue, else
 * BATCHAI_COLL_ERR_ARGUMENT. Ranks may not have some of an operation's tensors on GPUs and some
 * not. stream: as of batchai_coll_device_allreduce_async. What is in it already comes before the
 * operation; once ticket_wait or ticket_test has reported the end, what is put into it comes after:
 * nobody needs to wait for the GPU. The stream has to live until then. The first one opens the GPU,
 * on all ranks, and the queue's close closes it. A buffer of fusion_bytes is allocated there. After
 * a failure of the communicator GPUs may still use the tensors. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_device_allreduce(
    batchai_coll_queue* queue, const char* name, const char* details,
    const batchai_coll_tensor* tensors, size_t tensor_count, batchai_coll_op op,
    const batchai_coll_scaling* scaling, int priority, int number, void* stream,
    batchai_coll_ticket** ticket);

/* Opens the GPU for the above, which does so too: to find out whether this rank can have it. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_queue_open_gpu(batchai_coll_queue* queue,
                                                                 int number);

/* An operation of the caller's own: run(argument) is called once all ranks have submitted it, in
 * the queue's order, by the queue's thread or one that waits, and may use the communicator. What it
 * returns other than 0 is a failure. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_call(batchai_coll_queue* queue,
                                                              const char* name, const char* details,
                                                              int (*run)(void* argument),
                                                              void* argument, int priority,
                                                              batchai_coll_ticket** ticket);

/* This rank has no more to submit: until all ranks say so, it takes part in the others' allreduces
 * with zeros, in sums and averages in host memory; what else they submit fails. Such rounds are
 * negotiated one by one. The ticket ends when all ranks have joined; *last is then the last one to
 * do so, the same everywhere. Numbering of operations without a name begins anew. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_join(batchai_coll_queue* queue, int* last,
                                                              batchai_coll_ticket** ticket);

/* OK or an error: the ticket is gone. A mismatch ends this operation only; after other errors the
 * queue is of no more use. IN_PROGRESS (ticket_test only): call again; it never waits. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_ticket_test(batchai_coll_queue* queue,
                                                              batchai_coll_ticket* ticket);
BATCHAI_COLL_API batchai_coll_status batchai_coll_ticket_wait(batchai_coll_queue* queue,
                                                              batchai_coll_ticket* ticket);

/* Begins a timeline of this rank in the file, in Chrome's trace format; null ends it. mark_cycles:
 * 1: with a mark where a repeated cycle begins. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_queue_timeline(batchai_coll_queue* queue,
                                                                 const char* path, int mark_cycles);

/* Memory of GPUs. An allreduce of it is hierarchical: the node's GPUs reduce among themselves (by
 * NCCL, or in memory that they share where there is none or ranks share a GPU), equal local ranks
 * of the nodes combine their parts, through host memory or, where UCX carries that of GPUs, from
 * GPU to GPU, and the node's GPUs gather them, in chunks that overlap; or NCCL does it all; or the
 * host. Open measures what there is and takes the fastest for each size.
 *
 * Sums inside a node are NCCL's where it is taken: the promise about bits above is not for them,
 * and minima and maxima may lose a NaN. */
typedef struct batchai_coll_device batchai_coll_device;
typedef struct batchai_coll_device_request batchai_coll_device_request;

/* "CUDA 13.0, NCCL 2.28.9", or "off (why)": what this library was built with, and finds on this
 * machine. Valid until the calling thread's next call. */
BATCHAI_COLL_API const char* batchai_coll_gpu_support(void);

/* Collective over all ranks of comm; an error on one rank is an error on all. number: the GPU, as
 * cudaSetDevice counts in this process; -1: the one of the local rank's number, from 0 again where
 * there are fewer. comm, which no queue may have, stays of use; its operations and those on the
 * device are called in the same order on all ranks. To be closed before comm is finalized, when
 * everything has ended: collective too, unless there was an error, and waits for the GPU. After an
 * error it returns within some seconds, whatever the GPU still waits for, which ends in the
 * background: until their stream has come to its end, the GPU may use the operations' memory. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_open(batchai_coll_comm* comm, int number,
                                                              batchai_coll_device** device);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_close(batchai_coll_device* device);

/* As batchai_coll_allreduce_async, of memory of the GPU. stream: a cudaStream_t (null: the default
 * stream); what is in it already comes before the allreduce. Once wait or test has reported the
 * end, what is put into the stream comes after it: nobody needs to wait for the GPU. Progress is
 * made in test and wait only. Several may be under way; they are done in the order of their start.
 *
 * While the stream is captured, on all ranks, the allreduce becomes a part of the graph, once wait
 * or test has reported its end; the capture is not to end before, and none is to begin in a stream
 * of which an operation has not ended. Capturing takes one rank, or NCCL between all ranks, each of
 * which has a GPU of its own: else BATCHAI_COLL_ERR_ARGUMENT, as from the other operations. All
 * ranks launch the graph equally often, in the same order with other operations of the device, by
 * one stream or by events. Launches are not seen here: one that not all ranks make, or during which
 * a rank dies, waits on the GPU, as NCCL's own would. Graphs are to be destroyed before the device
 * is closed, which waits for their end for two seconds and is BATCHAI_COLL_ERR_ARGUMENT otherwise;
 * after an error they are of no use. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_allreduce_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request);
/* The others, through host memory, as those without "device". */
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_reduce_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, int root,
    void* stream, batchai_coll_device_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_reduce_scatter_async(
    batchai_coll_device* device, const void* send, void* receive, const size_t* counts,
    batchai_coll_type type, batchai_coll_op op, const batchai_coll_scaling* scaling, void* stream,
    batchai_coll_device_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_broadcast_async(
    batchai_coll_device* device, void* buffer, size_t count, batchai_coll_type type, int root,
    void* stream, batchai_coll_device_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_allgather_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, void* stream, batchai_coll_device_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_allgatherv_async(
    batchai_coll_device* device, const void* send, void* receive, const size_t* counts,
    batchai_coll_type type, void* stream, batchai_coll_device_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_alltoall_async(
    batchai_coll_device* device, const void* send, void* receive, size_t count,
    batchai_coll_type type, void* stream, batchai_coll_device_request** request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_alltoallv_async(
    batchai_coll_device* device, const void* send, const size_t* send_counts, void* receive,
    const size_t* receive_counts, batchai_coll_type type, void* stream,
    batchai_coll_device_request** request);

/* OK or an error: the request is gone. IN_PROGRESS (test only): call again. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_test(batchai_coll_device_request* request);
BATCHAI_COLL_API batchai_coll_status batchai_coll_device_wait(batchai_coll_device_request* request);

/* Which ways there are, how long each took for which size, and which is taken, in some lines for
 * people. Valid until close. */
BATCHAI_COLL_API const char* batchai_coll_device_plan(const batchai_coll_device* device);

#ifdef __cplusplus
}
#endif

#endif /* BATCHAI_COLLECTIVES_H */
