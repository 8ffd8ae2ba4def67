// SPDX-License-Identifier: Apache-2.0
//
// A rank that loads libbatchai_collectives, uses it and unloads it, and that three times, as
// programs do that have it in a plug-in. reload_check LIBRARY; says that it is fine, or exits 9
// after a sentence.
#include <batchai/collectives.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void* library;

static void* function(const char* name) {
    void* found = dlsym(library, name);
    if (found != NULL) return found;
    fprintf(stderr, "no function %s\n", name);
    exit(9);
}

static void expect(batchai_coll_status status, const char* what) {
    if (status == BATCHAI_COLL_OK) return;
    const char* (*last_error)(void) = (const char* (*)(void))function("batchai_coll_last_error");
    fprintf(stderr, "%s: %s\n", what, last_error());
    exit(9);
}

static int use(void) {
    typedef batchai_coll_status (*Init)(batchai_coll_comm**);
    typedef batchai_coll_status (*Step)(batchai_coll_comm*);
    batchai_coll_comm* comm = NULL;
    expect(((Init)function("batchai_coll_init"))(&comm), "init");
    const int rank = ((int (*)(const batchai_coll_comm*))function("batchai_coll_rank"))(comm);
    expect(((Step)function("batchai_coll_barrier"))(comm), "barrier");
    expect(((Step)function("batchai_coll_finalize"))(comm), "finalize");
    return rank;
}

int main(int count, char** words) {
    int rank = -1;
    for (int i = 0; i < 3 && count == 2; ++i) {
        library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 9;
        }
        rank = use();
        dlclose(library);
    }
    printf("rank %d is fine\n", rank);
    return 0;
}
