// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "launcher/cli/admin/machine.hpp"
#include "launcher/cli/slurm/external.hpp"
#include "launcher/cli/slurm/slurm.hpp"
#include "launcher/common/paths.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobs = "/run/batchai/jobs";

// Lines "ok WHAT", "skipped WHAT: why" and "failed WHAT: why" of `batchai-helper try`.
void try_policy(const Installation& installed, Findings& findings) {
    const auto tried =
        run_program({installed.libexec + "/batchai-helper", "try", "--policy", installed.policy});
    if (!tried) return findings.error("mount", tried.error().message);
    std::istringstream lines(tried->out);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        const std::string what = line.substr(std::min(space, line.size() - 1) + 1);
        if (line.starts_with("ok ")) {
            findings.ok("mount", what);
        } else if (line.starts_with("skipped ")) {
            findings.ok("mount", what + ": not tried");
        } else {
            findings.error("mount", what);
        }
    }
    if (tried->status != 0 && tried->out.empty()) findings.error("mount", first_line(tried->err));
}

void try_ranks(Findings& findings) {
    const std::string launcher = launcher::sibling_program("batchai-launch");
    if (launcher.empty()) return findings.error("ranks", "batchai-launch is not installed");
    const auto tried =
        run_program({launcher, "--local", "2", "-n", "2", "--timeout", "30", "--", "/bin/true"});
    if (tried && tried->status == 0) return findings.ok("ranks", "two start under PMIx servers");
    findings.error("ranks", tried ? first_line(tried->err) : tried.error().message);
}

// Listed before Slurm is asked: a job that starts meanwhile is not among them.
std::vector<std::string> jobs_here() {
    std::vector<std::string> jobs;
    std::error_code none;
    for (const auto& job : fs::directory_iterator(kJobs, none))
        jobs.push_back(job.path().filename());
    return jobs;
}

struct ClusterJobs {
    std::string prefix;              // of a job's directory: "CLUSTER-", before its number
    std::vector<std::string> names;  // that the directories of unfinished jobs may have
};
sys::Result<ClusterJobs> cluster_jobs() {
    auto jobs = unfinished_jobs();
    if (!jobs) return jobs.error();
    const auto configuration = slurm_configuration();
    if (!configuration) return configuration.error();
    ClusterJobs cluster{value_of(*configuration, "ClusterName") + "-", *std::move(jobs)};
    for (auto& name : cluster.names) name.insert(0, cluster.prefix);
    return cluster;
}

bool is_of_cluster(const std::string& job, const std::string& prefix) {
    return job.starts_with(prefix) &&
           job.find_first_not_of("0123456789.", prefix.size()) == job.npos;
}

void look_for_leftovers(Findings& findings) {
    const auto here = jobs_here();
    const auto unfinished = cluster_jobs();
    bool clean = true;
    for (const std::string& job : here) {
        // Directories of another cluster's jobs are left to that cluster's doctor.
        if (unfinished && !is_of_cluster(job, unfinished->prefix)) continue;
        if (!unfinished) {
            findings.warning("leftovers", fmt::format("whether job {} still runs is unknown: {}",
                                                      job, unfinished.error().message));
        } else if (std::find(unfinished->names.begin(), unfinished->names.end(), job) ==
                   unfinished->names.end()) {
            findings.error("leftovers",
                           fmt::format("job {0} is over and has left {1}/{0}: restart slurmd, or "
                                       "run 'batchai-helper teardown --job {0}'",
                                       job, kJobs));
        } else {
            continue;
        }
        clean = false;
    }
    if (clean) findings.ok("leftovers", fmt::format("none in {}", kJobs));
}

}  // namespace

void try_machine(const Installation& installed, Findings& findings) {
    if (::geteuid() == 0) {
        try_policy(installed, findings);
        look_for_leftovers(findings);
    } else {
        findings.warning("mount", "mounts and leftovers are not tried: needs root");
    }
    try_ranks(findings);
}

}  // namespace batchai::cli
