// SPDX-License-Identifier: Apache-2.0
//
// Checks cluster.json and nfs.json, the files of `cluster create -f` and `file-server create -f`,
// as strictly as a job file: a wrong type is an error, an unknown key a warning. If the document
// has no "properties", it is itself the properties.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"

namespace batchai::job {

// Sorted by place in the file. A volume at nodeSetup.mountVolumes is checked like a job's. The
// site policy is not read.
std::vector<Finding> check_cluster_file(std::string_view text, const std::string& file_name);
std::vector<Finding> check_file_server_file(std::string_view text, const std::string& file_name);

}  // namespace batchai::job
