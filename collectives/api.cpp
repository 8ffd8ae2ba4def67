// SPDX-License-Identifier: Apache-2.0
//
// The C interface: checks arguments, keeps the last error's sentence, lets no exception out. What
// concerns blocks of different lengths is in api_blocks.cpp.
#include "collectives/api.hpp"

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

// BATCHAI_COLL_DEBUG=plan: rank 0 says what it is.
void show(const std::string& plan, int rank) {
    const char* wanted = std::getenv("BATCHAI_COLL_DEBUG");
    if (rank != 0 || wanted == nullptr || std::strcmp(wanted, "plan") != 0) return;
    std::fprintf(stderr, "collectives: plan: %s\n", plan.c_str());
}

Engine::Request* engine_request(batchai_coll_request* request) {
    return reinterpret_cast<Engine::Request*>(request);
}

batchai_coll_status concluded(const Engine& engine, batchai_coll_status status) {
    if (status == BATCHAI_COLL_OK || status == BATCHAI_COLL_IN_PROGRESS) return status;
    return fail(status, engine.failure().sentence);
}

bool is_floating(std::uint8_t type) {
    return type == BATCHAI_COLL_FLOAT32 || type == BATCHAI_COLL_FLOAT64 ||
           type == BATCHAI_COLL_FLOAT16 || type == BATCHAI_COLL_BFLOAT16;
}

}  // namespace

batchai_coll_status fail(batchai_coll_status status, const std::string& sentence) {
    last_error = "collectives: " + sentence;
    return status;
}

batchai_coll_status bad_argument(const char* function, const std::string& what) {
    return fail(BATCHAI_COLL_ERR_ARGUMENT, fmt::format("{}: {}", function, what));
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

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    const std::less<const char*> before;
    const auto *left = static_cast<const char*>(a), *right = static_cast<const char*>(b);
    return before(left, right + b_bytes) && before(right, left + a_bytes);
}

bool fits(std::size_t count, batchai_coll_type type, int ranks) {
    const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
    return count <=
           most / type_size(static_cast<std::uint8_t>(type)) / static_cast<std::size_t>(ranks);
}

bool is_type(batchai_coll_type type) {
    return type >= BATCHAI_COLL_FLOAT32 && type <= kLastType;
}

Signature signature_of(Kind kind, std::size_t count, batchai_coll_type type) {
    Signature signature;
    signature.kind = kind;
    signature.count = count;
    signature.type = static_cast<std::uint8_t>(type);
    return signature;
}

std::string set_reduction(Signature& signature, batchai_coll_op op,
                          const batchai_coll_scaling* scaling) {
    if (op < BATCHAI_COLL_SUM || op > BATCHAI_COLL_PRODUCT) {
        return fmt::format("no operation {}", static_cast<int>(op));
    }
    if (op == BATCHAI_COLL_AVERAGE && signature.type == BATCHAI_COLL_BOOL) {
        return "booleans have no average";
    }
    signature.op = static_cast<std::uint8_t>(op);
    if (scaling == nullptr) return {};
    if (!std::isfinite(scaling->before) || !std::isfinite(scaling->after)) {
        return fmt::format("the factors {} and {} are not both numbers", scaling->before,
                           scaling->after);
    }
    if ((scaling->before != 1 || scaling->after != 1) && !is_floating(signature.type)) {
        return "only floating types have factors";
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
        show((*comm)->plan, batchai_coll_rank(*comm));
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_finalize(batchai_coll_comm* comm) {
    return guarded([&] {
        if (comm == nullptr) return BATCHAI_COLL_OK;
        if (const std::size_t parts = comm->communicator->children(); parts > 0) {
            return bad_argument(
                "finalize", fmt::format("communicators split from this one are left: {}", parts));
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

batchai_coll_status batchai_coll_allreduce_async(batchai_coll_comm* comm, const void* send,
                                                 void* receive, size_t count,
                                                 batchai_coll_type type, batchai_coll_op op,
                                                 const batchai_coll_scaling* scaling,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "allreduce";
        if (comm == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        Signature signature = signature_of(Kind::allreduce, count, type);
        if (const std::string wrong = set_reduction(signature, op, scaling); !wrong.empty()) {
            return bad_argument(kName, wrong);
        }
        if (!fits(count, type, 1)) return bad_argument(kName, "the count is too large");
        if (count > 0 && (send == nullptr || receive == nullptr)) {
            return bad_argument(kName, "a null buffer");
        }
        if (send != receive && overlap(send, bytes_of(signature), receive, bytes_of(signature))) {
            return bad_argument(kName, "send and receive overlap without being the same");
        }
        return start(
            comm,
            {signature, static_cast<const std::byte*>(send), static_cast<std::byte*>(receive)},
            request);
    });
}

batchai_coll_status batchai_coll_broadcast_async(batchai_coll_comm* comm, void* buffer,
                                                 size_t count, batchai_coll_type type, int root,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "broadcast";
        if (comm == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        if (root < 0 || root >= comm->communicator->topology().size) {
            return bad_argument(kName, fmt::format("no rank {} to be the root", root));
        }
        if (!fits(count, type, 1)) return bad_argument(kName, "the count is too large");
        if (count > 0 && buffer == nullptr) return bad_argument(kName, "a null buffer");
        Signature signature = signature_of(Kind::broadcast, count, type);
        signature.root = root;
        auto* data = static_cast<std::byte*>(buffer);
        return start(comm, {signature, data, data}, request);
    });
}

batchai_coll_status batchai_coll_allgather_async(batchai_coll_comm* comm, const void* send,
                                                 void* receive, size_t count,
                                                 batchai_coll_type type,
                                                 batchai_coll_request** request) {
    return guarded([&] {
        constexpr const char* kName = "allgather";
        if (comm == nullptr || request == nullptr) return bad_argument(kName, "a null argument");
        if (!is_type(type)) {
            return bad_argument(kName, fmt::format("no type {}", static_cast<int>(type)));
        }
        const Topology& topology = comm->communicator->topology();
        if (!fits(count, type, topology.size)) {
            return bad_argument(kName, "the count is too large");
        }
        if (count > 0 && (send == nullptr || receive == nullptr)) {
            return bad_argument(kName, "a null buffer");
        }
        const Signature signature = signature_of(Kind::allgather, count, type);
        const std::size_t bytes = bytes_of(signature);
        auto* to = static_cast<std::byte*>(receive);
        const bool in_place = send == to + static_cast<std::size_t>(topology.rank) * bytes;
        if (!in_place &&
            overlap(send, bytes, receive, bytes * static_cast<std::size_t>(topology.size))) {
            return bad_argument(kName,
                                "send overlaps receive without being this rank's block of it");
        }
        return start(comm, {signature, static_cast<const std::byte*>(send), to}, request);
    });
}

batchai_coll_status batchai_coll_barrier_async(batchai_coll_comm* comm,
                                               batchai_coll_request** request) {
    return guarded([&] {
        if (comm == nullptr || request == nullptr)
            return bad_argument("barrier", "a null argument");
        return start(comm, {}, request);
    });
}

batchai_coll_status batchai_coll_test(batchai_coll_request* request) {
    return guarded([&] {
        if (request == nullptr) return bad_argument("test", "request is null");
        Engine& engine = *engine_request(request)->engine;
        return concluded(engine, engine.test(engine_request(request)));
    });
}

batchai_coll_status batchai_coll_wait(batchai_coll_request* request) {
    return guarded([&] {
        if (request == nullptr) return bad_argument("wait", "request is null");
        Engine& engine = *engine_request(request)->engine;
        return concluded(engine, engine.wait(engine_request(request)));
    });
}

batchai_coll_status batchai_coll_allreduce(batchai_coll_comm* comm, const void* send, void* receive,
                                           size_t count, batchai_coll_type type, batchai_coll_op op,
                                           const batchai_coll_scaling* scaling) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_allreduce_async(comm, send, receive, count, type, op, scaling, request);
    });
}

batchai_coll_status batchai_coll_broadcast(batchai_coll_comm* comm, void* buffer, size_t count,
                                           batchai_coll_type type, int root) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_broadcast_async(comm, buffer, count, type, root, request);
    });
}

batchai_coll_status batchai_coll_allgather(batchai_coll_comm* comm, const void* send, void* receive,
                                           size_t count, batchai_coll_type type) {
    return blocking([&](batchai_coll_request** request) {
        return batchai_coll_allgather_async(comm, send, receive, count, type, request);
    });
}

batchai_coll_status batchai_coll_barrier(batchai_coll_comm* comm) {
    return blocking(
        [&](batchai_coll_request** request) { return batchai_coll_barrier_async(comm, request); });
}

}  // extern "C"
