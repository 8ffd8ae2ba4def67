// SPDX-License-Identifier: Apache-2.0
//
// Which releases a file of the plugin was built for, by the text that spank/plugin.cpp leaves in
// it. The file is read, not loaded: one that was built for another Slurm cannot be.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

struct BuiltFor {
    std::string batchai;  // "0.1.0"
    std::string slurm;    // "22.05.8"
};

// The error names the file.
sys::Result<BuiltFor> built_for(const std::string& plugin);

}  // namespace batchai::cli
