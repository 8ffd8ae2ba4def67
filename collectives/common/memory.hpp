// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace batchai::coll {

// What data lies in, to those that do not take it for the host's.
enum class Memory : std::uint8_t { host, cuda };

}  // namespace batchai::coll
