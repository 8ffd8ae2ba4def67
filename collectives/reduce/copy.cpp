// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/copy.hpp"

#include <cstring>

#include "collectives/reduce/table.hpp"

namespace batchai::coll {

void copy(void* to, const void* from, std::size_t bytes, bool streaming, InstructionSet set) {
    if (streaming) {
        table_of(set).stream(to, from, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

}  // namespace batchai::coll
