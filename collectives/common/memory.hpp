// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace batchai::coll {

// The kinds of memory that a buffer may be in.
enum class Memory : std::uint8_t { host, cuda };

}  // namespace batchai::coll
