/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbatchai_collectives: collective operations between the ranks of a job, in C. horovod.torch and
 * horovod.tensorflow use the queue (below), and split and group. docs/collectives.md has an example
 * of a program in C.
 *
 * Bootstraps through PMIx (any PMIx launcher: batchai-launch, srun --mpi=pmix, mpirun; a process
 * without a PMIx server is a job of one rank). Inside a node data goes through shared memory,
 * or ranks read each other's buffers; between nodes through UCX.
 *
 * Calling: every rank of a communicator makes the same sequence of collective calls with matching
 * arguments. A mismatch is an error on all ranks (BATCHAI_COLL_ERR_MISMATCH), never a hang.
 *
 * Failures: a thread in each rank watches the other ranks. If a rank dies or is stopped, a cable is
 * cut, or a node is gone, all remaining ranks get BATCHAI_COLL_ERR_PEER: in the call that waits, or
 * in their next call. The error sentence names the rank or node, and the labels of the operations
 * that wait.
 *
 * Buffers: counts are elements and size_t; any count is allowed, zero included. Send and receive
 * buffers are either the same (in place; for an allgather, send is this rank's block of receive) or
 * do not overlap. Buffers are in host memory, at any address; tensors that a queue reduces may be
 * in GPU memory. They belong to the caller and must stay untouched until the operation has
 * completed.
 *
 * Threads: one thread at a time may use a communicator and its requests. The exception is
 * batchai_coll_abort, which any thread may call. In a child of fork(), operations are refused.
 *
 * Errors: every function returns a batchai_coll_status; batchai_coll_last_error() has the sentence.
 * After an error other than BATCHAI_COLL_ERR_ARGUMENT the communicator only returns that error
 * until it is finalized. Then all ranks may call init again, in the same processes, any number of
 * times, as long as all processes run: if one has ended, the launcher has to start all ranks again.
 * After finalize, the next program of a rank may call init, in step with all other ranks; so may a
 * process that has unloaded this library and loaded it again.
 *
 * Results: for the same ranks on the same nodes, the bits of a reduction depend on the reduced
 * numbers alone, not on the count, the place in the buffer, the algorithm or the processor's
 * instruction set. If several inputs are NaN, any of them may be the result.
 *
 * Environment:
 *   BATCHAI_COLL_TIMEOUT     seconds without any progress of an operation until
 *                            BATCHAI_COLL_ERR_TIMEOUT (default 600; 0: never). It applies to ranks
 *                            that are alive, but compute for so long or wait for something else.
 *   BATCHAI_COLL_WATCH       "process=2,node=5,stall=30" (the defaults): seconds until a rank whose
 *                            process has ended, a node that does not answer, and a rank that is
 *                            stopped are BATCHAI_COLL_ERR_PEER. From 0.1 on; 0: never. The same on
 *                            all ranks. Init waits for all ranks for as long as the launcher does.
 *   BATCHAI_COLL_NODE        the name of the node that this rank counts as (default: the host's)
 *   UCX_TLS, UCX_NET_DEVICES and the like: as in UCX, for the traffic between nodes
 *   BATCHAI_COLL_ALGORITHM   the algorithm that combines the nodes' results, whatever it costs
 *                            (docs/collectives.md lists them)
 *   BATCHAI_COLL_DEBUG=plan  rank 0 prints batchai_coll_plan() to stderr in init
 *   BATCHAI_COLL_PROGRESS    a file of the launcher, in which it reads what this rank is doing
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
    BATCHAI_COLL_IN_PROGRESS = 1, /* only from batchai_coll_test and _ticket_test */
    BATCHAI_COLL_ERR_ARGUMENT = -1,
    BATCHAI_COLL_ERR_MISMATCH = -2, /* ranks disagree on operation, type, count or factors */
    BATCHAI_COLL_ERR_TIMEOUT = -3,  /* a rank did not arrive in time */
    BATCHAI_COLL_ERR_PEER = -4,     /* a rank died, is stopped, or cannot be reached */
    BATCHAI_COLL_ERR_SYSTEM = -5,   /* memory, PMIx, UCX, shared memory */
    BATCHAI_COLL_ERR_ABORTED = -6   /* batchai_coll_abort was called */
} batchai_coll_status;

typedef enum {
    BATCHAI_COLL_FLOAT32 = 0,
    BATCHAI_COLL_FLOAT64 = 1,
    BATCHAI_COLL_INT32 = 2,
    BATCHAI_COLL_INT64 = 3,
    BATCHAI_COLL_UINT8 = 4, /* in operations without a reduction: bytes of any type */
    BATCHAI_COLL_INT8 = 5,
    BATCHAI_COLL_FLOAT16 = 6, /* IEEE 754 binary16 */
    BATCHAI_COLL_BFLOAT16 = 7,
    BATCHAI_COLL_BOOL = 8 /* a byte; any but 0 is true, results are 0 or 1 */
} batchai_coll_type;

/* Average divides the sum by the number of ranks. Integers truncate toward zero; booleans have no
 * average. Integers wrap around. For booleans, sum and max are "or", product and min are "and". Min
 * and max propagate NaN. Numbers of 16 bits are computed as float32 and rounded to nearest, ties to
 * even. They are rounded at most twice, whatever the number of ranks: each node's partial result,
 * if there are several nodes, and the result. */
typedef enum {
    BATCHAI_COLL_SUM = 0,
    BATCHAI_COLL_AVERAGE = 1,
    BATCHAI_COLL_MIN = 2,
    BATCHAI_COLL_MAX = 3,
    BATCHAI_COLL_PRODUCT = 4
} batchai_coll_op;

/* Factors of a reduction: it multiplies every input by `before` as it reads it, and the result by
 * `after` at the end. Both are finite and the same on all ranks. The products are computed as
 * float32, for BATCHAI_COLL_FLOAT64 as double; numbers of 16 bits are not rounded once more for
 * them. Only floating types have factors; for other types both are 1. An average is divided before
 * it is multiplied. */
typedef struct {
    double before;
    double after;
} batchai_coll_scaling;

typedef struct batchai_coll_comm batchai_coll_comm;       /* ranks that work together */
typedef struct batchai_coll_request batchai_coll_request; /* an operation in flight */

/* "1.2.3". Static storage. */
BATCHAI_COLL_API const char* batchai_coll_version(void);
/* The sentence of the last error on the calling thread; valid until its next call. */
BATCHAI_COLL_API const char* batchai_coll_last_error(void);
/* The name of a status in one word: "mismatch", "timeout", …. Static storage. */
BATCHAI_COLL_API const char* batchai_coll_status_name(batchai_coll_status status);

/* Init is collective over all ranks of the job; an error on one rank is an error on all. The caller
 * owns *comm and ends it with finalize. Finalize waits for the other ranks: it is collective too,
 * except after an error. Another init may follow. The communicator and its requests are gone after
 * finalize, whatever it returns.
 *
 * A rank is one process at a time. Init fails with BATCHAI_COLL_ERR_SYSTEM if a live process of the
 * rank has called it, which ends the job, or if a launcher such as torchrun has made several
 * processes of the rank. A process without a PMIx server is rank 0 of 1. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_init(batchai_coll_comm** comm);
BATCHAI_COLL_API batchai_coll_status batchai_coll_finalize(batchai_coll_comm* comm);

/* Makes a communicator of `count` ranks of comm. `ranks` lists them in ascending order; in *part
 * they are the ranks 0, 1, …. Collective over all ranks of comm, with the same list; ranks that are
 * not listed get a null *part. Finalize it before comm; until then both can be used. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_split(batchai_coll_comm* comm, const int* ranks,
                                                        size_t count, batchai_coll_comm** part);

/* An allgather that the caller provides: it gives `bytes` bytes of every rank, the same number on
 * all, to every rank, in rank order. Returns 0 on success, another number on failure. */
typedef int (*batchai_coll_exchange)(void* context, const void* own, size_t bytes, void* all);

/* Makes a communicator of ranks of comm that find each other through the caller's exchange. This
 * process is number `rank` of `size`. Collective over these ranks only. Calls exchange(context, …)
 * a few times before it returns, equally often on each rank. Any thread may call it, also while
 * comm has operations under way. Finalize it before comm. If the exchange ends on some ranks only,
 * it has to fail on the others by itself, after some time. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_group(batchai_coll_comm* comm, int rank, int size,
                                                        batchai_coll_exchange exchange,
                                                        void* context, batchai_coll_comm** part);

/* Makes all ranks of the job fail with BATCHAI_COLL_ERR_ABORTED, at once where they wait, else in
 * their next call. The sentence names the rank that aborted, then `why` (null: no reason). It ends
 * the communicator that init made and all that were split from it, whichever of them comm is. Any
 * thread may call it while another one waits, but not during or after finalize. If there was a
 * failure before, that failure holds. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_abort(batchai_coll_comm* comm, const char* why);

BATCHAI_COLL_API int batchai_coll_rank(const batchai_coll_comm* comm);
BATCHAI_COLL_API int batchai_coll_size(const batchai_coll_comm* comm);
BATCHAI_COLL_API int batchai_coll_local_rank(const batchai_coll_comm* comm);
BATCHAI_COLL_API int batchai_coll_local_size(const batchai_coll_comm* comm); /* of this node */
BATCHAI_COLL_API int batchai_coll_node_rank(const batchai_coll_comm* comm); /* index of this node */
BATCHAI_COLL_API int batchai_coll_node_count(const batchai_coll_comm* comm);

/* Allocates memory for buffers that the other ranks of the node can address: `bytes` for this rank,
 * any number, zeroed and page aligned. Allreduces of comm read a buffer in this memory
 * in place. Allreduces of ranks of one node also write it in place, instead of copying it through
 * shared memory: about twice as fast for long messages (docs/collectives.md). Broadcasts,
 * allgathers and alltoalls of ranks of one node read send buffers in place if all of them are in
 * it. On one node, messages from 32 KiB to 8 MiB go through shared memory if that is measured to be
 * faster. Otherwise it is memory like any other, except that a child of fork() shares it. Results
 * have the same bits.
 *
 * Allocate and free are collective, in the same order on all ranks. If one rank lacks memory, all
 * get BATCHAI_COLL_ERR_SYSTEM, and the communicator stays usable. Free waits for comm's operations
 * on all ranks. Finalize frees the rest. After any other error, a rank that is late may still write
 * into the others' memory of this kind until it has learned of the error. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allocate(batchai_coll_comm* comm, size_t bytes,
                                                           void** memory);
BATCHAI_COLL_API batchai_coll_status batchai_coll_free(batchai_coll_comm* comm, void* memory);

/* The algorithm for each message size and its expected cost, in some lines of text for the user.
 * Valid until finalize. */
BATCHAI_COLL_API const char* batchai_coll_plan(const batchai_coll_comm* comm);

/* Labels the operations from here on ("grad.3"), for reports of a hang. At most 63 bytes are kept;
 * null or empty: no label. Costs next to nothing. */
BATCHAI_COLL_API void batchai_coll_label(batchai_coll_comm* comm, const char* label);

/* Asynchronous operations run in the order in which they were started; *request is freed by the
 * wait or test that reports its completion. Progress is made in any call on the communicator. An
 * operation may need such calls of every rank until it is done on all. */
/* scaling may be null: no factors. It is copied. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_allreduce_async(
    batchai_coll_comm* comm, const void* send, void* receive, size_t count, batchai_coll_type type,
    batchai_coll_op op, const batchai_coll_scaling* scaling, batchai_coll_request** request);
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
/* The same with blocks of different lengths: send_counts[r] elements go to rank r, and
 * receive_counts[r] come from it. Both ranks must agree on that number. */
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
 * The queue: named operations, submitted from any thread and in any order. The order need not be
 * the same on all ranks: the queue carries the operations out in the background, in one order for
 * all. Ranks negotiate which operations all of them have submitted. Small tensors are fused into
 * one message. The queue recognizes a job that repeats itself, which then goes on without
 * negotiation. docs/collectives.md has the rules.
 *
 * From open to close the communicator belongs to the queue: only operations of the caller's own
 * (batchai_coll_submit_call) may use it. Any thread may call any function of the queue, but open,
 * close and free only while no other call is under way.
 */
typedef struct batchai_coll_queue batchai_coll_queue;
typedef struct batchai_coll_ticket batchai_coll_ticket; /* an operation that was submitted */

/* Settings that a queue can tune while it works. */
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
    double stall_warning;  /* seconds until stderr says which rank has not submitted which
                              operation; 0: never */
    const int* numbers;    /* the ranks' numbers in messages; null: those of comm */
} batchai_coll_queue_options;

/* Options that suit most jobs. */
BATCHAI_COLL_API batchai_coll_queue_options batchai_coll_queue_defaults(void);

/* Open is collective, with the same options on all ranks; null: the defaults. Close is collective
 * too: operations that have not started fail, the others end, and all ranks leave together. Free
 * destroys the queue and its tickets, closed or not: a process that ends without the other ranks
 * does not close. */
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

/* An allreduce of tensors, all of them or none. name: operations with the same name on all ranks
 * belong together, and must agree on everything except the buffers. Null: the n-th operation
 * without a name belongs to the n-th of the other ranks. details: text that must agree too, and
 * that a message may repeat ("[2, 3]"); may be null. priority: of operations that are agreed on
 * together, higher ones come first. name, details, tensors and scaling are copied. It is
 * BATCHAI_COLL_ERR_ARGUMENT if an operation with that name has not ended yet. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_allreduce(
    batchai_coll_queue* queue, const char* name, const char* details,
    const batchai_coll_tensor* tensors, size_t tensor_count, batchai_coll_op op,
    const batchai_coll_scaling* scaling, int priority, batchai_coll_ticket** ticket);

/* The same for tensors in the memory of a GPU. number: the GPU, as cudaSetDevice counts in this
 * process; -1: the local rank's number, modulo the number of GPUs. A rank must pass the same number
 * in all its submissions to this queue, else it gets BATCHAI_COLL_ERR_ARGUMENT. An operation's
 * tensors must be on GPUs on all ranks or on none. stream: a cudaStream_t (null: the default
 * stream), which is not being captured. Work that is in the stream already comes before the
 * operation. Work that the caller adds after ticket_wait or ticket_test has reported the end comes
 * after it, so the caller need not wait for the GPU. The stream must exist until then.
 *
 * The first submission opens the GPU on all ranks and allocates a buffer of fusion_bytes there; the
 * queue's close closes it. The ranks then measure the ways that work here, and take the fastest for
 * each size:
 *   - hierarchical, in chunks that overlap. The GPUs of a node reduce among themselves, by NCCL, or
 *     in shared GPU memory if there is no NCCL or ranks share a GPU. Ranks with the same local rank
 *     on each node combine their parts, through host memory. Then the GPUs of the node gather the
 *     parts.
 *   - by NCCL alone
 *   - through the host
 * If NCCL computes the sums of a node, the promise about bits above does not hold for them, and
 * minima and maxima may lose a NaN.
 *
 * After a failure of the communicator, close returns within some seconds, even if the GPU still
 * waits; that work ends in the background, and may still use the tensors. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_device_allreduce(
    batchai_coll_queue* queue, const char* name, const char* details,
    const batchai_coll_tensor* tensors, size_t tensor_count, batchai_coll_op op,
    const batchai_coll_scaling* scaling, int priority, int number, void* stream,
    batchai_coll_ticket** ticket);

/* Opens the GPU that the function above uses, which otherwise opens it with the first submission.
 * Call it to find out whether this rank can use the GPU. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_queue_open_gpu(batchai_coll_queue* queue,
                                                                 int number);

/* An operation of the caller's own. Once all ranks have submitted it, the queue calls run(argument)
 * in its order, on its own thread or on one that waits. run may use the communicator. Any return
 * value other than 0 is a failure. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_call(batchai_coll_queue* queue,
                                                              const char* name, const char* details,
                                                              int (*run)(void* argument),
                                                              void* argument, int priority,
                                                              batchai_coll_ticket** ticket);

/* Says that this rank has no more to submit. Until all ranks have joined, it takes part with zeros
 * in the others' sums and averages in host memory; their other operations fail. Such rounds are
 * negotiated one by one. The ticket ends when all ranks have joined; *last is then the rank that
 * joined last, the same on all ranks. The numbering of operations without a name starts again. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_submit_join(batchai_coll_queue* queue, int* last,
                                                              batchai_coll_ticket** ticket);

/* OK or an error: the ticket is gone. A mismatch ends this operation only; after other errors the
 * queue is unusable. IN_PROGRESS (ticket_test only, which never waits): call again. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_ticket_test(batchai_coll_queue* queue,
                                                              batchai_coll_ticket* ticket);
BATCHAI_COLL_API batchai_coll_status batchai_coll_ticket_wait(batchai_coll_queue* queue,
                                                              batchai_coll_ticket* ticket);

/* Starts a timeline of this rank in the file, in Chrome's trace format; a null path ends it.
 * mark_cycles: 1 adds a mark at the start of each repeated cycle. */
BATCHAI_COLL_API batchai_coll_status batchai_coll_queue_timeline(batchai_coll_queue* queue,
                                                                 const char* path, int mark_cycles);

/* The GPU software that this library was built with and finds on this machine: "CUDA 13.0, NCCL
 * 2.28.9", or "off (why)". Valid until the calling thread's next call. */
BATCHAI_COLL_API const char* batchai_coll_gpu_support(void);

#ifdef __cplusplus
}
#endif

#endif /* BATCHAI_COLLECTIVES_H */
