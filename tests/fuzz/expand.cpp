// SPDX-License-Identifier: Apache-2.0
//
// Variables in a job file's paths and values.
#include "job/expand.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // A value that looks like a variable must not be looked at again.
    batchai::job::Environment environment = {{"AZ_BATCHAI_A", "$AZ_BATCHAI_A${AZ_BATCHAI_B}"},
                                             {"AZ_BATCHAI_B", "x"}};
    const std::string result = batchai::job::expand(text, environment);
    fuzz::must(result.size() <= 3 * text.size(), "a variable is replaced once", result);
    fuzz::must(text.find('$') != text.npos || result == text, "a text without $ stays", result);
    environment["HOME"] = "/root";
    fuzz::must(batchai::job::expand(text, environment) == result,
               "only AZ_BATCHAI_ variables are replaced", result);
    return 0;
}
