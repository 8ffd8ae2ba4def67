// SPDX-License-Identifier: Apache-2.0
//
// A plain PMIx client.
// pmix_check exchange             put, commit, fence, and get everybody's value
// pmix_check direct               get a value that no fence carried
// pmix_check publish              publish, look up, unpublish
// pmix_check wait                 look up what is published later
// pmix_check group                make a group of the first and the last rank, and one of all;
//                                  connect
// pmix_check event                the last rank sends an event to all, and another to rank 0 alone
// pmix_check log RANK             RANK logs a line to each of standard output and error
// pmix_check query                ask for what is not a key
// pmix_check topology             find the node's topology in shared memory
// pmix_check signal RANK NUMBER   rank 0 has RANK signalled
// pmix_check fences COUNT BYTES   COUNT fences; every rank gives BYTES bytes to each
// pmix_check absent RANK CODE     RANK exits before a fence; the others print the fence's status
// pmix_check abort RANK CODE      RANK aborts the job
// pmix_check nothing               join PMIx and leave it
// pmix_check leave RANK WHAT MS    RANK leaves PMIx and exits; MS later, the others do WHAT (fence,
//                                  connect, list: a fence of listed ranks, group: of listed
//                                  ranks) and say what it returned
// pmix_check desert RANK WHAT      RANK exits without leaving PMIx; the others make a group of all
//                                  (construct), or end the one that all have made (destruct)
// pmix_check odd                   ask for groups in ways that PMIx 4.2's server does not survive
// pmix_check scalar                ask for one in a way that neither it nor PMIx 5's client does
// pmix_check unheard RANK          RANK has its agent sleep while it leaves PMIx and exits; the
//                                  others fence
#include <pmix.h>
#include <signal.h>
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

// What a member has put before, the others have afterwards, without a fence.
static size_t make_group(const char* name, pmix_proc_t* members, size_t count) {
    pmix_info_t wants_id, *results = NULL;
    size_t nresults = 0, id = 0;
    char key[32];
    snprintf(key, sizeof key, "in %s", name);
    put(key, (int)me.rank);
    PMIX_INFO_LOAD(&wants_id, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    expect(PMIx_Group_construct(name, members, count, &wants_id, 1, &results, &nresults), name);
    for (size_t i = 0; i < nresults; ++i) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) id = results[i].value.data.size;
    }
    for (size_t i = 0; i < count; ++i) get(key, members[i].rank);
    expect(PMIx_Group_destruct(name, NULL, 0), "destruct");
    return id;
}

static void group(void) {
    pmix_proc_t ends[2], all[64], anyone;
    PMIX_LOAD_PROCID(&ends[0], me.nspace, 0);
    PMIX_LOAD_PROCID(&ends[1], me.nspace, size - 1);
    for (uint32_t rank = 0; rank < size; ++rank) PMIX_LOAD_PROCID(&all[rank], me.nspace, rank);
    if (me.rank == 0 || me.rank == size - 1)
        printf("group ends is number %zu\n", make_group("ends", ends, 2));
    printf("group all is number %zu\n", make_group("all", all, size));
    PMIX_LOAD_PROCID(&anyone, me.nspace, PMIX_RANK_WILDCARD);
    expect(PMIx_Connect(&anyone, 1, NULL, 0), "connect");
    expect(PMIx_Disconnect(&anyone, 1, NULL, 0), "disconnect");
}

enum { kForAll = PMIX_EXTERNAL_ERR_BASE - 1, kForOne = PMIX_EXTERNAL_ERR_BASE - 2 };
static volatile int for_all, for_one;

static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void* data) {
    (void)handler, (void)results, (void)nresults;
    int text = 0;
    for (size_t i = 0; i < ninfo; ++i)
        text |= PMIX_CHECK_KEY(&info[i], "say") && strcmp(info[i].value.data.string, "hello") == 0;
    if (source->rank == size - 1 && text) *(code == kForAll ? &for_all : &for_one) += 1;
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void tell(pmix_status_t code, pmix_data_range_t range, uint32_t rank) {
    pmix_info_t info[2];
    pmix_proc_t proc;
    PMIX_INFO_LOAD(&info[0], "say", "hello", PMIX_STRING);
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &proc, PMIX_PROC);
    expect(
        PMIx_Notify_event(code, &me, range, info, range == PMIX_RANGE_CUSTOM ? 2 : 1, NULL, NULL),
        "notify");
}

static void event(void) {
    pmix_status_t codes[] = {kForAll, kForOne};
    const int last = me.rank == size - 1;
    PMIx_Register_event_handler(codes, 2, NULL, 0, on_event, NULL, NULL);
    expect(fence(0), "fence");
    if (last) tell(kForOne, PMIX_RANGE_CUSTOM, 0);
    if (last) tell(kForAll, PMIX_RANGE_NAMESPACE, 0);
    while (!last && !for_all) usleep(1000);
    expect(fence(0), "fence");
    if (for_one != (me.rank == 0)) exit(4);
}

static void write_log(void) {
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_LOG_STDOUT, "logged out\n", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_LOG_STDERR, "logged err\n", PMIX_STRING);
    expect(PMIx_Log(info, 2, NULL, 0), "log");
    PMIX_INFO_LOAD(&info[0], PMIX_LOG_EMAIL, "nowhere", PMIX_STRING);
    if (PMIx_Log(info, 1, NULL, 0) == PMIX_SUCCESS) exit(4);
}

static void query(void) {
    char* known[] = {PMIX_QUERY_NAMESPACES, PMIX_QUERY_NUM_PSETS, NULL};
    char* partly[] = {PMIX_QUERY_NAMESPACES, PMIX_QUERY_QUEUE_LIST, NULL};
    pmix_query_t ask = {known, NULL, 0};
    pmix_info_t* info = NULL;
    size_t ninfo = 0;
    expect(PMIx_Query_info(&ask, 1, &info, &ninfo), "query");
    if (ninfo != 2 || strcmp(info[0].value.data.string, me.nspace) != 0) exit(4);
    PMIX_INFO_FREE(info, ninfo);
    ask.keys = partly;
    if (PMIx_Query_info(&ask, 1, &info, &ninfo) != PMIX_ERR_PARTIAL_SUCCESS) exit(5);
    ask.keys = partly + 1;
    if (PMIx_Query_info(&ask, 1, &info, &ninfo) == PMIX_SUCCESS) exit(6);
}

static void topology(void) {
    pmix_proc_t job;
    pmix_value_t* file = NULL;
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    expect(PMIx_Get(&job, PMIX_HWLOC_SHMEM_FILE, NULL, 0, &file), "topology");
    if (access(file->data.string, R_OK) != 0) exit(4);
    PMIX_VALUE_RELEASE(file);
}

static void have_signalled(uint32_t rank, int number) {
    pmix_info_t info;
    pmix_proc_t target;
    PMIX_LOAD_PROCID(&target, me.nspace, rank);
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    if (me.rank == 0) expect(PMIx_Job_control(&target, 1, &info, 1, NULL, NULL), "job control");
    sleep(20);
}

// PMIx_Error_string's texts differ between versions.
static void say(const char* what, pmix_status_t status) {
    printf("%s: %s\n", what,
           status == PMIX_SUCCESS               ? "success"
           : status == PMIX_ERR_PARTIAL_SUCCESS ? "partial success"
           : status == PMIX_ERR_NOT_SUPPORTED   ? "not supported"
                                                : PMIx_Error_string(status));
}

static pmix_status_t meet(const char* what) {
    pmix_proc_t all[64];
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    PMIX_LOAD_PROCID(&all[0], me.nspace, PMIX_RANK_WILDCARD);
    if (what[0] == 'c') return PMIx_Connect(all, 1, NULL, 0);
    if (what[0] == 'f') return PMIx_Fence(all, 1, NULL, 0);
    for (uint32_t rank = 0; rank < size; ++rank) PMIX_LOAD_PROCID(&all[rank], me.nspace, rank);
    if (what[0] == 'g') return PMIx_Group_construct(what, all, size, NULL, 0, &results, &nresults);
    return PMIx_Fence(all, size, NULL, 0);
}

static void leave(int named, const char* what, int milliseconds) {
    expect(fence(0), "fence");
    if (named) {
        expect(PMIx_Finalize(NULL, 0), "finalize");
        exit(0);
    }
    usleep((useconds_t)milliseconds * 1000);
    say(what, meet(what));
}

static void desert(int named, const char* what) {
    pmix_proc_t all[64];
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    for (uint32_t rank = 0; rank < size; ++rank) PMIX_LOAD_PROCID(&all[rank], me.nspace, rank);
    expect(fence(0), "fence");
    if (what[0] == 'd')
        expect(PMIx_Group_construct("g", all, size, NULL, 0, &results, &nresults), "construct");
    if (named) usleep(300000);
    if (named) _exit(0);
    if (what[0] == 'd') expect(PMIx_Group_destruct("g", NULL, 0), "destruct");
    expect(PMIx_Group_construct("h", all, size, NULL, 0, &results, &nresults), "construct");
    sleep(20);
}

static void ask(const char* what, pmix_info_t* info, uint32_t rank) {
    pmix_proc_t all[64], anyone;
    pmix_info_t* results = NULL;
    size_t nresults = 0;
    for (uint32_t r = 0; r < size; ++r) PMIX_LOAD_PROCID(&all[r], me.nspace, r);
    PMIX_LOAD_PROCID(&anyone, me.nspace, PMIX_RANK_WILDCARD);
    const int wildcard = rank == PMIX_RANK_WILDCARD;
    const pmix_status_t status =
        PMIx_Group_construct(what, wildcard ? &anyone : all, wildcard ? 1 : size, info,
                             info != NULL, &results, &nresults);
    say(what, status);
}

// Rank 0 alone asks with a time limit.
static void odd(void) {
    pmix_info_t info;
    int limit = 1;
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
    if (me.rank == 0) ask("limit", &info, 0);
    if (me.rank == 0) ask("wildcard", NULL, PMIX_RANK_WILDCARD);
    expect(fence(0), "fence");
    group();
}

static void scalar(void) {
    pmix_info_t info;
    uint32_t number = 42;
    PMIX_INFO_LOAD(&info, PMIX_GROUP_INFO, &number, PMIX_UINT32);
    ask("scalar", &info, 0);
}

// PMIx_Finalize waits 2 s for the agent's answer.
static void leave_unheard(int named) {
    expect(fence(0), "fence");
    if (!named) {
        sleep(1);
        expect(fence(0), "fence");
        return;
    }
    const pid_t agent = getppid();
    if (fork() == 0) {
        for (int fd = 3; fd < 1024; ++fd) close(fd);
        sleep(3);
        kill(agent, SIGCONT);
        _exit(0);
    }
    kill(agent, SIGSTOP);
    PMIx_Finalize(NULL, 0);
    _exit(0);
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
    } else if (strcmp(argv[1], "group") == 0) {
        group();
    } else if (strcmp(argv[1], "event") == 0) {
        event();
    } else if (strcmp(argv[1], "log") == 0) {
        if (me.rank == (uint32_t)atoi(argv[2])) write_log();
    } else if (strcmp(argv[1], "query") == 0) {
        query();
    } else if (strcmp(argv[1], "topology") == 0) {
        topology();
    } else if (strcmp(argv[1], "signal") == 0) {
        have_signalled((uint32_t)atoi(argv[2]), atoi(argv[3]));
    } else if (strcmp(argv[1], "absent") == 0) {
        if (named) _exit(atoi(argv[3]));
        const pmix_status_t status = fence(0);
        fprintf(stderr, "fence: %s\n", PMIx_Error_string(status));
        sleep(20);
    } else if (strcmp(argv[1], "leave") == 0) {
        leave(named, argv[3], atoi(argv[4]));
    } else if (strcmp(argv[1], "desert") == 0) {
        desert(named, argv[3]);
    } else if (strcmp(argv[1], "odd") == 0) {
        odd();
    } else if (strcmp(argv[1], "scalar") == 0) {
        scalar();
    } else if (strcmp(argv[1], "unheard") == 0) {
        leave_unheard(me.rank == (uint32_t)atoi(argv[2]));
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
