// SPDX-License-Identifier: Apache-2.0
//
// A rank of a job in which something goes wrong. Prints "rank R: SENTENCE" for what the library has
// told it and "rank R of N is fine" where everything was as expected; exits 9 after a sentence
// where not. BATCHAI_COLL_FAULT says what goes wrong.
//
// faults_check MODE [ARGUMENT...], where MODE is one of
//
//   fail STATUS [FILE]  reduces until there is an error, which is to be of this status: "peer", …;
//                       waits for the file; then all is well after another init
//   end STATUS          the same, but ends then, as ranks do whose job has lost one
//   idle STATUS FILE    computes, in no call, until there is such a file; then the next call is to
//                       fail
//   compute SECONDS     computes for so long between two operations, in no call; nothing is wrong
//   busy FILE           reduces until there is such a file; nothing is wrong
//   part STATUS         reduces in a communicator of the even ranks until there is an error; the
//                       odd ones wait in the job's
//   abort               rank 0 aborts in another thread than the one that waits; the others compute
//   fork                a child leaves and another one stays while the ranks reduce
//   rounds NUMBER       fails and begins again so many times, in several ways; nothing is left over
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rank.h"

static batchai_coll_status sum_in(batchai_coll_comm* where, size_t count) {
    static float data[100000];
    return batchai_coll_allreduce(where, data, data, count, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM,
                                  NULL);
}

static batchai_coll_status sum(size_t count) {
    batchai_coll_label(comm, "gradient");
    return sum_in(comm, count);
}

static void expect_failure(batchai_coll_status status, const char* wanted) {
    if (strcmp(batchai_coll_status_name(status), wanted) != 0) {
        fprintf(stderr, "rank %d: %s instead of %s: %s\n", rank, batchai_coll_status_name(status),
                wanted, batchai_coll_last_error());
        exit(9);
    }
    printf("rank %d: %s\n", rank, batchai_coll_last_error());
    fflush(stdout);
}

static void fails_in(batchai_coll_comm* where, const char* wanted) {
    batchai_coll_status status = BATCHAI_COLL_OK;
    while (status == BATCHAI_COLL_OK) status = sum_in(where, 100000);
    expect_failure(status, wanted);
}

static void fails(const char* wanted) {
    batchai_coll_status status = sum(1);
    if (status == BATCHAI_COLL_OK) printf("rank %d reduces\n", rank);
    fflush(stdout);
    for (int i = 0; status == BATCHAI_COLL_OK; ++i) status = sum(i % 2 == 0 ? 100000 : 1);
    expect_failure(status, wanted);
}

static void wait_for(const char* file) {
    while (*file != '\0' && access(file, F_OK) != 0) usleep(10000);
}

static void end(void) {
    expect(batchai_coll_finalize(comm), "finalize");
}

// Another init, after which all is well.
static void again(void) {
    end();
    unsetenv("BATCHAI_COLL_FAULT");
    start();
    for (int i = 0; i < 10; ++i) expect(sum(100000), "allreduce");
}

static void compute(double seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
}

static void idle(const char* wanted, const char* file) {
    expect(sum(100000), "allreduce");
    printf("rank %d computes: process %d\n", rank, (int)getpid());
    fflush(stdout);
    wait_for(file);
    expect_failure(sum(100000), wanted);
}

static void part(const char* wanted) {
    int even[64], count = 0;
    for (int r = 0; r < size; r += 2) even[count++] = r;
    batchai_coll_comm* evens = NULL;
    if (batchai_coll_split(comm, even, (size_t)count, &evens) != BATCHAI_COLL_OK) {
        fails(wanted);  // others are out of the split already
    } else if (rank % 2 == 0) {
        fails_in(evens, wanted);
        expect(batchai_coll_finalize(evens), "finalize");
        if (sum(1) == BATCHAI_COLL_OK) fail("part: the job goes on");
    } else {
        fails(wanted);
    }
    again();
}

static void* abort_soon(void* unused) {
    (void)unused;
    usleep(200000);
    expect(batchai_coll_abort(comm, "enough is enough"), "abort");
    return NULL;
}

static void abort_job(void) {
    pthread_t thread;
    if (rank == 0 && pthread_create(&thread, NULL, abort_soon, NULL) != 0) fail("pthread_create");
    if (rank != 0) compute(0.5);
    fails("aborted");
    if (rank == 0) pthread_join(thread, NULL);
    again();
}

static void fork_children(void) {
    const pid_t leaves = fork();
    if (leaves == 0) _exit(0);
    const pid_t stays = fork();
    if (stays == 0) {
        while (1) pause();
    }
    waitpid(leaves, NULL, 0);
    for (int i = 0; i < 1000; ++i) expect(sum(1), "allreduce");
    compute(1);
    expect(sum(100000), "allreduce");
    kill(stays, SIGKILL);
    waitpid(stays, NULL, 0);
}

static int entries(const char* directory) {
    DIR* list = opendir(directory);
    int count = 0;
    while (list != NULL && readdir(list) != NULL) ++count;
    if (list != NULL) closedir(list);
    return count;
}

// Mappings of the node's shared memory.
static int segments(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        count += strstr(line, "batchai-collectives") != NULL;
    }
    if (maps != NULL) fclose(maps);
    return count;
}

// A failure of its own kind in each round, which slow ranks may see while they are in the operation
// before.
static void one_round(int round) {
    int64_t number = 0;
    batchai_coll_status status = sum(100000);
    if (round % 3 == 0) {
        if (rank == round % size) expect(batchai_coll_abort(comm, "again"), "abort");
        return fails("aborted");
    }
    if (status == BATCHAI_COLL_OK && round % 3 == 1) status = sum(rank == 0 ? 7 : 8);
    if (status == BATCHAI_COLL_OK) {
        status = rank == 0 ? batchai_coll_barrier(comm)
                           : batchai_coll_broadcast(comm, &number, 1, BATCHAI_COLL_INT64, 0);
    }
    expect_failure(status, "mismatch");
}

static void rounds(int number) {
    int files = 0, threads = 0, mapped = 0;
    for (int round = 0; round < number; ++round) {
        one_round(round);
        end();
        // The first rounds open what stays: the connection to the launcher, what UCX keeps.
        if (round == 1) {
            files = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
            mapped = segments();
        } else if (round > 1 && (entries("/proc/self/fd") > files ||
                                 entries("/proc/self/task") > threads || segments() > mapped)) {
            fprintf(stderr,
                    "rank %d: round %d: %d files, %d threads, %d segments; were %d, %d, %d\n", rank,
                    round, entries("/proc/self/fd"), entries("/proc/self/task"), segments(), files,
                    threads, mapped);
            exit(9);
        }
        start();
    }
    expect(sum(100000), "allreduce");
}

static void run(const char* mode, const char* argument, const char* file) {
    if (strcmp(mode, "fail") == 0) return fails(argument), wait_for(file), again();
    if (strcmp(mode, "end") == 0) return fails(argument);
    if (strcmp(mode, "idle") == 0) return idle(argument, file);
    if (strcmp(mode, "busy") == 0) return busy(argument);
    if (strcmp(mode, "part") == 0) return part(argument);
    if (strcmp(mode, "abort") == 0) return abort_job();
    if (strcmp(mode, "fork") == 0) return fork_children();
    if (strcmp(mode, "rounds") == 0) return rounds(atoi(argument));
    if (strcmp(mode, "compute") == 0) {
        expect(sum(100000), "allreduce");
        compute(atof(argument));
        return expect(sum(100000), "allreduce");
    }
    fprintf(stderr, "faults_check: no mode '%s'\n", mode);
    exit(64);
}

int main(int count, char** words) {
    start();
    run(count > 1 ? words[1] : "", count > 2 ? words[2] : "", count > 3 ? words[3] : "");
    end();
    printf("rank %d of %d is fine\n", rank, size);
    return 0;
}
