// SPDX-License-Identifier: Apache-2.0
#include "slurm/limits.hpp"

#include <pwd.h>
#include <unistd.h>

#include <sstream>

#include "slurm/command.hpp"

namespace batchai::slurm {
namespace {

// The name of the user, or the number of a user without a name.
std::string own_user() {
    const passwd* user = ::getpwuid(::geteuid());
    return user == nullptr ? std::to_string(::geteuid()) : user->pw_name;
}

}  // namespace

OwnUsage parse_own_usage(const std::string& squeue) {
    OwnUsage usage;
    std::istringstream words(squeue);
    std::int64_t nodes = 0;
    for (std::string state; words >> state >> nodes;) {
        ++usage.submitted;
        if (state != "R") continue;
        ++usage.running;
        usage.nodes += nodes;
    }
    return usage;
}

OwnLimits parse_own_limits(const std::string& sacctmgr) {
    OwnLimits limits;
    const auto take = [](std::optional<std::int64_t>& limit, const std::string& text) {
        const auto value = number<std::int64_t>(text);
        if (value && (!limit || *value < *limit)) limit = value;
    };
    for (const std::string& line : lines_of(sacctmgr)) {
        std::istringstream fields(line);
        std::string tres, jobs, submitted;
        std::getline(fields, tres, '|');
        std::getline(fields, jobs, '|');
        std::getline(fields, submitted, '|');
        take(limits.running, jobs);
        take(limits.submitted, submitted);
        std::istringstream resources(tres);
        for (std::string item; std::getline(resources, item, ',');)
            if (item.starts_with("node=")) take(limits.nodes, item.substr(5));
    }
    return limits;
}

sys::Result<OwnUsage> own_usage() {
    const auto text = ask(squeue({"--me", "--format=%t %D"}));
    if (!text) return text.error();
    return parse_own_usage(*text);
}

sys::Result<OwnLimits> own_limits() {
    const auto text = ask({"sacctmgr",
                           {"--noheader", "--parsable2", "show", "assoc", "where",
                            "user=" + own_user(), "format=GrpTRES,MaxJobs,MaxSubmitJobs"}});
    if (!text) return text.error();
    return parse_own_limits(*text);
}

}  // namespace batchai::slurm
