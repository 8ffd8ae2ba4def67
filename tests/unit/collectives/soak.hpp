// SPDX-License-Identifier: Apache-2.0
//
// Whether tests are to take their time: BATCHAI_SOAK=1.
#pragma once

#include <cstdlib>
#include <string_view>

inline bool soaks() {
    const char* const said = std::getenv("BATCHAI_SOAK");
    return said != nullptr && std::string_view(said) != "0";
}
