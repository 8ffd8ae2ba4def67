// SPDX-License-Identifier: Apache-2.0
#include "collectives/common/call.hpp"

#include <fmt/format.h>

#include <iterator>

namespace batchai::coll {
namespace {

constexpr const char* kTypes[] = {"float32", "float64", "int32",    "int64", "uint8",
                                  "int8",    "float16", "bfloat16", "bool"};
static_assert(std::size(kTypes) == kLastType + 1);
constexpr const char* kOps[] = {"sum", "average", "min", "max", "product"};

}  // namespace

std::string describe(const Signature& signature) {
    const std::string what = fmt::format("{} {}{}", signature.count, kTypes[signature.type],
                                         signature.on_devices ? " on GPUs" : "");
    const std::string blocks =
        signature.layout == 0 ? "" : fmt::format(" in blocks (lengths #{:08x})", signature.layout);
    const std::string scaled =
        signature.before == 1 && signature.after == 1
            ? ""
            : fmt::format(" scaled by {} and {}", signature.before, signature.after);
    switch (signature.kind) {
        case Kind::barrier:
            return "barrier";
        case Kind::finalize:
            return "finalize";
        case Kind::allreduce:
            return fmt::format("allreduce ({}) of {}{}", kOps[signature.op], what, scaled);
        case Kind::broadcast:
            return fmt::format("broadcast of {} from rank {}", what, signature.root);
        case Kind::allgather:
            return "allgather of " + what + blocks;
        case Kind::reduce_scatter:
            return fmt::format("reduce-scatter ({}) of {}{}{}", kOps[signature.op], what, blocks,
                               scaled);
        case Kind::alltoall:
            return "all-to-all of " + what;
        case Kind::alltoallv:
            return fmt::format("all-to-all of {} blocks", kTypes[signature.type]);
        case Kind::allocate:
            return "allocate";
        case Kind::free:
            return fmt::format("free of memory {}", signature.root);
    }
    return "an unknown operation";
}

}  // namespace batchai::coll
