// SPDX-License-Identifier: Apache-2.0
//
// The releases that a plugin file was built for. Read from the text that spank/plugin.cpp puts into
// the file: a plugin that was built for another Slurm cannot be loaded.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

struct BuiltFor {
    std::string batchai;  // "0.1.0"
    std::string slurm;    // "22.05.8"
};

// An error names the file.
sys::Result<BuiltFor> built_for(const std::string& plugin);

}  // namespace batchai::cli
