// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/trusted.hpp"

#include "sys/trusted.hpp"

namespace batchai::spank {

sys::Result<sys::UniqueFd> open_trusted_directory(const std::string& path) {
    return sys::open_trusted(path, {.flags = O_PATH | O_DIRECTORY, .makes = true});
}

}  // namespace batchai::spank
