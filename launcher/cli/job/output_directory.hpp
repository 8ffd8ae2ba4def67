// SPDX-License-Identifier: Apache-2.0
//
// Where this machine finds a job's output files.
#pragma once

#include <string>

#include "launcher/cli/job/job_name.hpp"

namespace batchai::cli {

// id: "stdouterr", or that of one of the job's outputDirectories. path: a folder below it, without
// "..".
sys::Result<std::string> output_directory(const NamedJob&, const std::string& id,
                                          const std::string& path);

}  // namespace batchai::cli
