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
    // batchai-helper gives the file system a source that begins with this name.
    const std::string root = " - tmpfs batchai-" + job_id + "-";
    for (std::string line; std::getline(mountinfo, line);)
        if (line.find(root) != line.npos) return true;
    return false;
}

bool asks_for_mounts(const env::Environment& environment) {
    // The plugin passes options in these variables, and empties those of another job.
    return std::ranges::any_of(environment, [](const auto& entry) {
        return entry.first.starts_with("SLURM_SPANK_BATCHAI_") && !entry.second.empty();
    });
}

sys::Result<void> check_readiness(const std::vector<Hello>& nodes, const std::string& job_id,
                                  bool asked) {
    std::vector<std::string> missing;
    for (const Hello& node : nodes)
        if (!node.in_job_mounts) missing.push_back(node.name);
    if (missing.empty() || (!asked && missing.size() == nodes.size())) return {};
    return sys::Error{fmt::format(
        "{}: the mounts of job {} are missing, so the plugin has not prepared {} for it. Check "
        "that the node's plugstack.conf has the plugin's line, and look into slurmd's log there",
        fmt::join(missing, ", "), job_id, missing.size() == 1 ? "this node" : "these nodes")};
}

}  // namespace batchai::launcher
