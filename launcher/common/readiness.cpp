// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/readiness.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

namespace batchai::launcher {

bool is_in_job_mounts(const std::string& job_id) {
    std::ifstream mountinfo("/proc/self/mountinfo");
    return shows_job_mounts(mountinfo, job_id);
}

bool shows_job_mounts(std::istream& mountinfo, const std::string& job_id) {
    if (job_id.empty()) return false;
    // batchai-helper names the file system by the job's temporary directory.
    const std::string root = " - tmpfs batchai-" + job_id + "-";
    for (std::string line; std::getline(mountinfo, line);)
        if (line.find(root) != line.npos) return true;
    return false;
}

bool asks_for_mounts(const env::Environment& environment) {
    // The plugin hands options over in these, and has emptied those of another job.
    return std::ranges::any_of(environment, [](const auto& entry) {
        return entry.first.starts_with("SLURM_SPANK_BATCHAI_") && !entry.second.empty();
    });
}

sys::Result<void> check_readiness(const std::vector<Hello>& nodes, bool asked) {
    std::vector<std::string> missing;
    for (const Hello& node : nodes)
        if (!node.in_job_mounts) missing.push_back(node.name);
    if (missing.empty() || (!asked && missing.size() == nodes.size())) return {};
    return sys::Error{fmt::format(
        "{}: the job's mounts and preparation are missing: the plugin is not active {}: add its "
        "line to the node's plugstack.conf",
        fmt::join(missing, ", "), missing.size() == 1 ? "there" : "on these nodes")};
}

}  // namespace batchai::launcher
