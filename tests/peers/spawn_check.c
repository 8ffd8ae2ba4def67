// SPDX-License-Identifier: Apache-2.0
//
// A program that starts new processes with MPI_Comm_spawn, and is these processes too.
// spawn_check merge COUNT   all ranks together start COUNT processes; all meet, and part
// spawn_check twice         like merge, with two programs in one call (MPI_Comm_spawn_multiple)
// spawn_check deep          the new process starts one more
// spawn_check code CODE     the last new process ends with this code, after it has parted
// spawn_check last          the new processes end last
// spawn_check again TIMES   rank 0 starts one process after the other, and waits for a free slot
// spawn_check refused COUNT PROGRAM CODE [KEY VALUE]
//                           rank 0 asks in vain for so many processes, and ends with CODE
// spawn_check placed KEY VALUE   rank 0 starts two processes with this key of MPI_Info
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static char* self;
static MPI_Comm parent;

static void fine(MPI_Comm all) {
    int number, size, sum, one = 1;
    MPI_Comm_rank(all, &number);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    if (sum == size) printf("rank %d of %d is fine\n", number, size);
    fflush(stdout);
}

static void meet_and_part(MPI_Comm others, int high) {
    MPI_Comm all;
    MPI_Intercomm_merge(others, high, &all);
    fine(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&others);
}

static MPI_Comm start(int count, char* mode, char* word, MPI_Info info, MPI_Comm with) {
    MPI_Comm others;
    char* words[] = {mode, word, NULL};
    const int status =
        MPI_Comm_spawn(self, words, count, info, 0, with, &others, MPI_ERRCODES_IGNORE);
    return status == MPI_SUCCESS ? others : MPI_COMM_NULL;
}

static void twice(void) {
    MPI_Comm others;
    char *programs[] = {self, self}, *words[] = {"twice", NULL}, **each[] = {words, words};
    int counts[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, programs, each, counts, infos, 0, MPI_COMM_WORLD, &others,
                            MPI_ERRCODES_IGNORE);
    meet_and_part(others, 0);
}

static void again(int times) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (times > 0) {
        MPI_Comm others = start(1, "again", "0", MPI_INFO_NULL, MPI_COMM_SELF);
        if (others == MPI_COMM_NULL) {
            usleep(100000);
            continue;
        }
        MPI_Comm_disconnect(&others);
        --times;
    }
    puts("all have run");
}

static int refused(char** words) {
    MPI_Comm others;
    MPI_Info info = MPI_INFO_NULL;
    if (words[3] != NULL) {
        MPI_Info_create(&info);
        MPI_Info_set(info, words[3], words[4]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn(words[1], MPI_ARGV_NULL, atoi(words[0]), info, 0, MPI_COMM_SELF, &others,
                       MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
        puts("there are no new processes");
    return atoi(words[2]);
}

static void placed(char* key, char* value) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm others = start(2, "placed", NULL, info, MPI_COMM_SELF);
    MPI_Comm_disconnect(&others);
}

static int user(char** words) {
    int code = 0;
    if (!strcmp(words[0], "merge"))
        meet_and_part(start(atoi(words[1]), "merge", NULL, MPI_INFO_NULL, MPI_COMM_WORLD), 0);
    else if (!strcmp(words[0], "twice"))
        twice();
    else if (!strcmp(words[0], "deep"))
        meet_and_part(start(1, "deep", "1", MPI_INFO_NULL, MPI_COMM_WORLD), 0);
    else if (!strcmp(words[0], "code") || !strcmp(words[0], "last"))
        meet_and_part(start(2, words[0], words[1], MPI_INFO_NULL, MPI_COMM_WORLD), 0);
    else if (rank == 0 && !strcmp(words[0], "again"))
        again(atoi(words[1]));
    else if (rank == 0 && !strcmp(words[0], "refused"))
        code = refused(words + 1);
    else if (rank == 0 && !strcmp(words[0], "placed"))
        placed(words[1], words[2]);
    if (!strcmp(words[0], "refused")) fine(MPI_COMM_WORLD);
    return code;
}

static int started(char** words) {
    char place[4096];
    if (!strcmp(words[0], "again") || !strcmp(words[0], "placed")) {
        printf("process %d of %d on %s in %s\n", rank, ranks, getenv("BATCHAI_NODE_NAME"),
               getcwd(place, sizeof place));
        MPI_Comm_disconnect(&parent);
        return 0;
    }
    meet_and_part(parent, 1);
    if (!strcmp(words[0], "deep") && atoi(words[1]) > 0)
        meet_and_part(start(1, "deep", "0", MPI_INFO_NULL, MPI_COMM_WORLD), 0);
    if (!strcmp(words[0], "code") && rank == ranks - 1) return atoi(words[1]);
    if (!strcmp(words[0], "last")) {
        sleep(1);
        puts("a new process ends");
    }
    return 0;
}

int main(int count, char** words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_get_parent(&parent);
    self = words[0];
    const int code = parent == MPI_COMM_NULL ? user(words + 1) : started(words + 1);
    MPI_Finalize();
    return code;
}
