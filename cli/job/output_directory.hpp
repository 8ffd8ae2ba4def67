// SPDX-License-Identifier: Apache-2.0
//
// Finds a job's output files on this machine.
#pragma once

#include <string>

#include "cli/job/job_name.hpp"

namespace batchai::cli {

// id: "stdouterr", or an id of the job's outputDirectories. path: a directory below it, without
// "..".
sys::Result<std::string> output_directory(const NamedJob&, const std::string& id,
                                          const std::string& path);

}  // namespace batchai::cli
