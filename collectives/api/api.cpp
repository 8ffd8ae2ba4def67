// SPDX-License-Identifier: Apache-2.0
//
// The C interface: communicators, and the parts that its other files share.
#include "collectives/api/api.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "collectives/comm/group.hpp"

namespace batchai::coll::api {
namespace {

thread_local std::string last_error;

std::atomic<unsigned> forks = 0;

batchai_coll_comm* handle_of(std::unique_ptr<Communicator> communicator) {
    auto handle = std::make_unique<batchai_coll_comm>();
    handle->communicator = std::move(communicator);
    handle->plan = handle->communicator->plan();
    return handle.release();
}

}  // namespace

Maker::Maker() {
    static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(registered);
    forks_ = forks.load(std::memory_order_relaxed);
}

bool Maker::is_this_process() const {
    return forks_ == forks.load(std::memory_order_relaxed);
}

batchai_coll_status refuse_child(const char* function) {
    return bad_argument(function,
                        "this process was forked from a rank of the job after init: a rank is one "
                        "process. Call init in the forked process only, or start as many ranks as "
                        "processes");
}

void show_plan(const std::string& plan, int rank) {
    const char* wanted = std::getenv("BATCHAI_COLL_DEBUG");
    if (rank != 0 || wanted == nullptr || std::strcmp(wanted, "plan") != 0) return;
    std::fprintf(stderr, "collectives: plan: %s\n", plan.c_str());
}

batchai_coll_status fail(batchai_coll_status status, const std::string& sentence) {
    last_error = "collectives: " + sentence;
    return status;
}

batchai_coll_status bad_argument(const char* function, const std::string& what) {
    return fail(BATCHAI_COLL_ERR_ARGUMENT, fmt::format("{}: {}", function, what));
}

batchai_coll_status bad_argument(const char* function, const sys::Error& error) {
    return bad_argument(function, error.message);
}

batchai_coll_status fail_by_exception() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";  // short enough for std::string to need no allocation
    } catch (const std::exception& error) {
        return fail(BATCHAI_COLL_ERR_SYSTEM, error.what());
    } catch (...) {
        last_error = "unknown error";
    }
    return BATCHAI_COLL_ERR_SYSTEM;
}

batchai_coll_status concluded(const Engine& engine, batchai_coll_status status) {
    if (status == BATCHAI_COLL_OK || status == BATCHAI_COLL_IN_PROGRESS) return status;
    return fail(status, engine.failure().sentence);
}

}  // namespace batchai::coll::api

using namespace batchai::coll;
using namespace batchai::coll::api;

extern "C" {

const char* batchai_coll_version(void) {
    return BATCHAI_VERSION;
}

const char* batchai_coll_last_error(void) {
    return last_error.c_str();
}

const char* batchai_coll_status_name(batchai_coll_status status) {
    switch (status) {
        case BATCHAI_COLL_OK:
            return "ok";
        case BATCHAI_COLL_IN_PROGRESS:
            return "in progress";
        case BATCHAI_COLL_ERR_ARGUMENT:
            return "argument";
        case BATCHAI_COLL_ERR_MISMATCH:
            return "mismatch";
        case BATCHAI_COLL_ERR_TIMEOUT:
            return "timeout";
        case BATCHAI_COLL_ERR_PEER:
            return "peer";
        case BATCHAI_COLL_ERR_SYSTEM:
            return "system";
        case BATCHAI_COLL_ERR_ABORTED:
            return "aborted";
    }
    return "unknown";
}

batchai_coll_status batchai_coll_init(batchai_coll_comm** comm) {
    return guarded([&] {
        if (comm == nullptr) return bad_argument("init", "comm is null");
        *comm = nullptr;
        auto created = Communicator::create();
        if (!created) return fail(BATCHAI_COLL_ERR_SYSTEM, created.error().in("init").message);
        *comm = handle_of(std::move(*created));
        show_plan((*comm)->plan, batchai_coll_rank(*comm));
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_finalize(batchai_coll_comm* comm) {
    return guarded([&] {
        if (comm == nullptr) return BATCHAI_COLL_OK;
        if (const std::size_t parts = comm->communicator->children(); parts > 0) {
            return bad_argument(
                "finalize",
                fmt::format(
                    "{} communicators split from this one are still open: finalize them first",
                    parts));
        }
        const std::unique_ptr<batchai_coll_comm> owner(comm);
        Communicator& communicator = *owner->communicator;
        if (communicator.engine().failure().status != BATCHAI_COLL_OK) return BATCHAI_COLL_OK;
        const auto done = communicator.finalize();
        if (done.status == BATCHAI_COLL_OK) return BATCHAI_COLL_OK;
        return fail(done.status, done.sentence);
    });
}

batchai_coll_status batchai_coll_split(batchai_coll_comm* comm, const int* ranks, size_t count,
                                       batchai_coll_comm** part) {
    return guarded([&] {
        constexpr const char* kName = "split";
        if (part != nullptr) *part = nullptr;
        if (comm == nullptr || part == nullptr) return bad_argument(kName, "a null argument");
        if (count == 0 || ranks == nullptr) return bad_argument(kName, "no ranks");
        if (!comm->maker.is_this_process()) return refuse_child(kName);
        const int size = comm->communicator->topology().size;
        for (size_t i = 0; i < count; ++i) {
            if (ranks[i] < 0 || ranks[i] >= size) {
                return bad_argument(kName, fmt::format("there is no rank {}", ranks[i]));
            }
            if (i > 0 && ranks[i] <= ranks[i - 1]) {
                return bad_argument(kName, "the ranks are not in ascending order");
            }
        }
        auto made = comm->communicator->split({ranks, ranks + count});
        if (!made) return fail(BATCHAI_COLL_ERR_SYSTEM, made.error().in(kName).message);
        if (*made == nullptr) return BATCHAI_COLL_OK;
        *part = handle_of(std::move(*made));
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_group(batchai_coll_comm* comm, int rank, int size,
                                       batchai_coll_exchange exchange, void* context,
                                       batchai_coll_comm** part) {
    return guarded([&] {
        constexpr const char* kName = "group";
        if (part != nullptr) *part = nullptr;
        if (comm == nullptr || exchange == nullptr || part == nullptr) {
            return bad_argument(kName, "a null argument");
        }
        if (!comm->maker.is_this_process()) return refuse_child(kName);
        if (rank < 0 || rank >= size || size > comm->communicator->topology().size) {
            return bad_argument(
                kName, fmt::format("rank {} of a group of {}: this communicator has {} ranks", rank,
                                   size, comm->communicator->topology().size));
        }
        auto made = comm->communicator->group(std::make_unique<Acquaintances>(
            rank, size, [=](const void* own, std::size_t bytes, void* all) {
                return exchange(context, own, bytes, all) == 0;
            }));
        if (!made) return fail(BATCHAI_COLL_ERR_SYSTEM, made.error().in(kName).message);
        *part = handle_of(std::move(*made));
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_abort(batchai_coll_comm* comm, const char* why) {
    return guarded([&] {
        if (comm == nullptr) return bad_argument("abort", "comm is null");
        comm->communicator->abort(why == nullptr ? "" : why);
        return BATCHAI_COLL_OK;
    });
}

int batchai_coll_rank(const batchai_coll_comm* comm) {
    return comm->communicator->topology().rank;
}
int batchai_coll_size(const batchai_coll_comm* comm) {
    return comm->communicator->topology().size;
}
int batchai_coll_local_rank(const batchai_coll_comm* comm) {
    return comm->communicator->topology().local_rank();
}
int batchai_coll_local_size(const batchai_coll_comm* comm) {
    return comm->communicator->topology().local_size();
}
int batchai_coll_node_rank(const batchai_coll_comm* comm) {
    return comm->communicator->topology().node();
}
int batchai_coll_node_count(const batchai_coll_comm* comm) {
    return comm->communicator->topology().nodes();
}

const char* batchai_coll_plan(const batchai_coll_comm* comm) {
    return comm->plan.c_str();
}

void batchai_coll_label(batchai_coll_comm* comm, const char* label) {
    if (comm != nullptr) comm->communicator->progress().label(label == nullptr ? "" : label);
}

// Memory that the ranks of a node can address of each other.

batchai_coll_status batchai_coll_allocate(batchai_coll_comm* comm, size_t bytes, void** memory) {
    return guarded([&] {
        constexpr const char* kName = "allocate";
        if (memory != nullptr) *memory = nullptr;
        if (comm == nullptr || memory == nullptr) return bad_argument(kName, "a null argument");
        const auto allocated = comm->communicator->allocate(bytes);
        const Engine& engine = comm->communicator->engine();
        if (engine.failure().status != BATCHAI_COLL_OK) {
            return concluded(engine, engine.failure().status);
        }
        if (!allocated) return fail(BATCHAI_COLL_ERR_SYSTEM, allocated.error().in(kName).message);
        *memory = *allocated;
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_free(batchai_coll_comm* comm, void* memory) {
    return guarded([&] {
        if (comm == nullptr) return bad_argument("free", "comm is null");
        const std::uint32_t region = comm->communicator->region_of(memory);
        if (region == 0) return bad_argument("free", "allocate did not return this address");
        const Failure failure = comm->communicator->release(region);
        return failure.status == BATCHAI_COLL_OK ? BATCHAI_COLL_OK
                                                 : fail(failure.status, failure.sentence);
    });
}

}  // extern "C"
