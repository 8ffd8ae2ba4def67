// SPDX-License-Identifier: Apache-2.0
//
// Prints help and usage errors of batchai-helper, batchai-prep and batchai-check.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

#include "spank/helper/exit_code.hpp"
#include "sys/text.hpp"

namespace batchai::spank {

// Prints it and returns the exit code. The words on the command line may come from any user.
inline int explain_usage(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    std::fputs(sys::printable_lines(out.str()).c_str(), stdout);
    std::fputs(sys::printable_lines(err.str()).c_str(), stderr);
    return code == 0 ? kSucceeded : kWrongUsage;
}

}  // namespace batchai::spank
