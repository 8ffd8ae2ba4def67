// SPDX-License-Identifier: Apache-2.0
//
// The C interface: communicators, and what its other files (api_operations.cpp, api_blocks.cpp)
// have in common.
#include "collectives/api/api.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <new>

namespace batchai::coll::api {
namespace {

thread_local std::string last_error;

bool is_floating(std::uint8_t type) {
    return type == BATCHAI_COLL_FLOAT32 || type == BATCHAI_COLL_FLOAT64 ||
           type == BATCHAI_COLL_FLOAT16 || type == BATCHAI_COLL_BFLOAT16;
}

}  // namespace

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
        last_error = "out of memory";  // short enough for a string without memory of its own
    } catch (const std::exception& error) {
        return fail(BATCHAI_COLL_ERR_SYSTEM, error.what());
    } catch (...) {
        last_error = "unknown error";
    }
    return BATCHAI_COLL_ERR_SYSTEM;
}

batchai_coll_status start(batchai_coll_comm* comm, const Call& call,
                          batchai_coll_request** request) {
    Engine& engine = comm->communicator->engine();
    if (engine.failure().status != BATCHAI_COLL_OK) {
        return concluded(engine, engine.failure().status);
    }
    *request = reinterpret_cast<batchai_coll_request*>(engine.start(call));
    return BATCHAI_COLL_OK;
}

batchai_coll_status concluded(const Engine& engine, batchai_coll_status status) {
    if (status == BATCHAI_COLL_OK || status == BATCHAI_COLL_IN_PROGRESS) return status;
    return fail(status, engine.failure().sentence);
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    if (a_bytes == 0 || b_bytes == 0) return false;
    const std::less<const char*> before;
    const auto *left = static_cast<const char*>(a), *right = static_cast<const char*>(b);
    return before(left, right + b_bytes) && before(right, left + a_bytes);
}

sys::Result<void> check_type(batchai_coll_type type) {
    if (type >= BATCHAI_COLL_FLOAT32 && type <= kLastType) return {};
    return sys::Error{fmt::format("no type {}", static_cast<int>(type))};
}

sys::Result<void> check_count(std::size_t count, batchai_coll_type type, int ranks) {
    const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() /
                             type_size(static_cast<std::uint8_t>(type)) /
                             static_cast<std::size_t>(ranks);
    if (count <= most) return {};
    return sys::Error{"the count is too large"};
}

sys::Result<void> check_root(int root, int ranks) {
    if (root >= 0 && root < ranks) return {};
    return sys::Error{fmt::format("no rank {} to be the root", root)};
}

std::uint32_t layout_of(std::span<const std::size_t> counts) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const std::size_t count : counts) hash = (hash ^ count) * 0x100000001b3ull ^ hash >> 29;
    return static_cast<std::uint32_t>(hash >> 32) | 1;  // 0 is no hash
}

sys::Result<std::size_t> sum_of(std::span<const std::size_t> counts, batchai_coll_type type) {
    std::size_t sum = 0;
    for (const std::size_t count : counts) {
        if (!check_count(count, type) || !check_count(sum + count, type)) {
            return sys::Error{"the counts are too large"};
        }
        sum += count;
    }
    return sum;
}

Signature signature_of(Kind kind, std::size_t count, batchai_coll_type type) {
    Signature signature;
    signature.kind = kind;
    signature.count = count;
    signature.type = static_cast<std::uint8_t>(type);
    return signature;
}

sys::Result<void> set_reduction(Signature& signature, batchai_coll_op op,
                                const batchai_coll_scaling* scaling) {
    if (op < BATCHAI_COLL_SUM || op > BATCHAI_COLL_PRODUCT) {
        return sys::Error{fmt::format("no operation {}", static_cast<int>(op))};
    }
    if (op == BATCHAI_COLL_AVERAGE && signature.type == BATCHAI_COLL_BOOL) {
        return sys::Error{"booleans have no average"};
    }
    signature.op = static_cast<std::uint8_t>(op);
    if (scaling == nullptr) return {};
    if (!std::isfinite(scaling->before) || !std::isfinite(scaling->after)) {
        return sys::Error{fmt::format("the factors {} and {} are not both numbers", scaling->before,
                                      scaling->after)};
    }
    if ((scaling->before != 1 || scaling->after != 1) && !is_floating(signature.type)) {
        return sys::Error{"only floating types have factors"};
    }
    signature.before = scaling->before;
    signature.after = scaling->after;
    return {};
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
        *comm = new batchai_coll_comm{std::move(*created), {}};
        (*comm)->plan = (*comm)->communicator->plan();
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
                fmt::format("communicators split from this one, or a device of it, are left: {}",
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
        const int size = comm->communicator->topology().size;
        for (size_t i = 0; i < count; ++i) {
            if (ranks[i] < 0 || ranks[i] >= size) {
                return bad_argument(kName, fmt::format("there is no rank {}", ranks[i]));
            }
            if (i > 0 && ranks[i] <= ranks[i - 1]) {
                return bad_argument(kName, "the ranks do not ascend");
            }
        }
        auto made = comm->communicator->split({ranks, ranks + count});
        if (!made) return fail(BATCHAI_COLL_ERR_SYSTEM, made.error().in(kName).message);
        if (*made == nullptr) return BATCHAI_COLL_OK;
        *part = new batchai_coll_comm{std::move(*made), {}};
        (*part)->plan = (*part)->communicator->plan();
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

}  // extern "C"
