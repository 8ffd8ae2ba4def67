// SPDX-License-Identifier: Apache-2.0
#include "collectives/call.hpp"

#include <fmt/format.h>

namespace batchai::coll {
namespace {

constexpr const char* kTypes[] = {"float32", "float64", "int32", "int64", "uint8"};
constexpr const char* kOps[] = {"sum", "average", "min", "max", "product"};

}  // namespace

std::size_t type_size(std::uint8_t type) {
    switch (type) {
        case BATCHAI_COLL_FLOAT32:
        case BATCHAI_COLL_INT32:
            return 4;
        case BATCHAI_COLL_FLOAT64:
        case BATCHAI_COLL_INT64:
            return 8;
        default:
            return 1;
    }
}

std::string describe(const Signature& signature) {
    const std::string what = fmt::format("{} {}", signature.count, kTypes[signature.type]);
    switch (signature.kind) {
        case Kind::barrier:
            return "barrier";
        case Kind::finalize:
            return "finalize";
        case Kind::allreduce:
            return fmt::format("allreduce ({}) of {}", kOps[signature.op], what);
        case Kind::broadcast:
            return fmt::format("broadcast of {} from rank {}", what, signature.root);
        case Kind::allgather:
            return "allgather of " + what;
    }
    return "an unknown operation";
}

}  // namespace batchai::coll
