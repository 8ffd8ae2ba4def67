// SPDX-License-Identifier: Apache-2.0
//
// For horovod.py, whose ranks have no launcher: as much of PMIx as the collective library asks for,
// on a board in a file (processes.hpp). A process that loads this library before the collective one
// and joins is a rank; what is not here is still libpmix's.
#include <fcntl.h>
#include <pmix.h>

#include <memory>
#include <string>

#include "processes.hpp"

using namespace batchai::coll;

namespace {

std::unique_ptr<BoardBootstrap> bootstrap;
std::string key, text;  // what was put since the last fence
pmix_proc_t self;

// Allocated as PMIx does: the caller frees it.
pmix_value_t* new_value() {
    return static_cast<pmix_value_t*>(std::calloc(1, sizeof(pmix_value_t)));
}

}  // namespace

extern "C" {

// Makes the process this rank of a job of `size`, whose board is in the file. Returns 0, or -1.
PMIX_EXPORT int gpu_ranks_join(const char* path, int rank, int size) {
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || size > Board::kRanks) return -1;
    // An empty board is of zeros, as the file is.
    void* memory = MAP_FAILED;
    if (::ftruncate(file, sizeof(Board)) == 0) {
        memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    ::close(file);
    if (memory == MAP_FAILED) return -1;
    bootstrap = std::make_unique<BoardBootstrap>(*static_cast<Board*>(memory), 0, rank, size);
    // No two jobs of a machine have the same name.
    PMIX_LOAD_PROCID(&self, path, static_cast<pmix_rank_t>(rank));
    if (::setenv("PMIX_RANK", std::to_string(rank).c_str(), 1) != 0) return -1;
    return ::setenv("PMIX_NAMESPACE", self.nspace, 1);
}

pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t*, size_t) {
    *proc = self;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t*, size_t) {
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char* wanted, const pmix_info_t*, size_t,
                       pmix_value_t** value) {
    if (std::strcmp(wanted, PMIX_JOB_SIZE) == 0) {
        *value = new_value();
        (*value)->type = PMIX_UINT32;
        (*value)->data.uint32 = static_cast<std::uint32_t>(bootstrap->size());
        return PMIX_SUCCESS;
    }
    if (proc->rank == PMIX_RANK_WILDCARD) return PMIX_ERR_NOT_FOUND;  // of the whole job
    const auto found = bootstrap->lookup(static_cast<int>(proc->rank), wanted);
    if (!found) return PMIX_ERR_NOT_FOUND;
    *value = new_value();
    (*value)->type = PMIX_BYTE_OBJECT;
    (*value)->data.bo.size = found->size();
    (*value)->data.bo.bytes = static_cast<char*>(std::malloc(found->size()));
    std::memcpy((*value)->data.bo.bytes, found->data(), found->size());
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Put(pmix_scope_t, const char* its_key, pmix_value_t* value) {
    key = its_key;
    text.assign(value->data.bo.bytes, value->data.bo.size);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void) {
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t) {
    const auto done = key.empty() ? bootstrap->fence() : bootstrap->publish(key, text);
    key.clear();
    return done ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
}

}  // extern "C"
