// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/admin/machine.hpp"
#include "slurm/command.hpp"
#include "slurm/jobs.hpp"
#include "sys/paths.hpp"
#include "sys/subprocess.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobs = "/run/batchai/jobs";

// `batchai-helper try` prints lines "ok WHAT", "skipped WHAT: why", "warning WHAT: why" and "failed
// WHAT: why".
void try_policy(const Machine& machine, Report& report) {
    if (::geteuid() != 0) return report.warning("mounts and leftovers are not tried: needs root");
    const std::string helper = machine.libexec + "/batchai-helper";
    if (!is_roots_alone(helper)) return;  // the check of programs has reported it
    const auto tried = sys::run({{helper, "try", "--policy", machine.policy_file}});
    if (!tried) return report.error(tried.error().message);
    std::istringstream lines(tried->out);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        const std::string what = line.substr(std::min(space, line.size() - 1) + 1);
        if (line.starts_with("ok ")) {
            report.ok(what);
        } else if (line.starts_with("skipped ")) {
            report.ok(what + ": not tried");
        } else if (line.starts_with("warning ")) {
            report.warning(what);
        } else {
            report.error(what);
        }
    }
    if (tried->status != 0 && tried->out.empty()) report.error(sys::first_line(tried->err));
}

void try_ranks(const Machine&, Report& report) {
    const std::string launcher = sys::sibling_program("batchai-launch");
    if (launcher.empty()) return report.error("batchai-launch is not installed");
    if (::geteuid() == 0)
        if (auto good = is_roots_alone(launcher); !good) return report.error(good.error().message);
    const auto tried =
        sys::run({{launcher, "--local", "2", "-n", "2", "--timeout", "30", "--", "/bin/true"}});
    if (tried && tried->status == 0) return report.ok("two start under PMIx servers");
    if (!tried) return report.error(tried.error().message);
    std::istringstream lines(tried->err);
    std::string why;  // the first line that is not a note about a slow start
    while (std::getline(lines, why) && why.find("still waiting") != why.npos) {
    }
    report.error(why.empty() ? fmt::format("batchai-launch: exit {}", tried->status) : why);
}

// Slurm itself loads the plugin here, so srun's message says what else is wrong with it.
void try_srun(const Machine& machine, Report& report) {
    if (!machine.slurm || !machine.is_slurms_plugstack || machine.line() == nullptr) return;
    const auto srun = slurm::find_command("srun");
    if (!srun) return;  // the check of programs says so
    const auto help = sys::run({{"timeout", "20", *srun, "--help"}});
    if (!help) return report.error(help.error().message);
    if (help->out.find("--batchai-job") != std::string::npos)
        return report.ok("srun knows --batchai-job");
    const std::string why = sys::first_line(help->err);
    report.error(
        "srun does not load the plugin: " +
        (why.empty() ? machine.plugstack + " has its line, and srun reads another file" : why));
}

// Called before Slurm is asked, so that a job that starts meanwhile is not in the list.
std::vector<std::string> jobs_here() {
    std::vector<std::string> jobs;
    std::error_code none;
    for (const auto& job : fs::directory_iterator(kJobs, none))
        jobs.push_back(job.path().filename());
    return jobs;
}

struct ClusterJobs {
    std::string prefix;              // "CLUSTER-", then comes the job's number
    std::vector<std::string> names;  // possible names of unfinished jobs' directories
};
sys::Result<ClusterJobs> cluster_jobs() {
    auto jobs = slurm::unfinished_jobs();
    if (!jobs) return jobs.error();
    const auto configuration = slurm::configuration();
    if (!configuration) return configuration.error();
    ClusterJobs cluster{slurm::value_of(*configuration, "ClusterName") + "-", *std::move(jobs)};
    for (auto& name : cluster.names) name.insert(0, cluster.prefix);
    return cluster;
}

bool is_of_cluster(const std::string& job, const std::string& prefix) {
    return job.starts_with(prefix) &&
           job.find_first_not_of("0123456789.", prefix.size()) == job.npos;
}

void look_for_leftovers(const Machine&, Report& report) {
    if (::geteuid() != 0) return;  // try_policy has reported it
    const auto here = jobs_here();
    const auto unfinished = cluster_jobs();
    bool clean = true;
    for (const std::string& job : here) {
        // Another cluster's doctor checks the directories of that cluster's jobs.
        if (unfinished && !is_of_cluster(job, unfinished->prefix)) continue;
        if (!unfinished) {
            report.warning(fmt::format("whether job {} still runs is unknown: {}", job,
                                       unfinished.error().message));
        } else if (std::find(unfinished->names.begin(), unfinished->names.end(),
                             job.substr(0, job.find('.', unfinished->prefix.size()))) ==
                   unfinished->names.end()) {  // the end of a job adds ".1" to its name
            // The job may have ended since its directory was listed.
            if (::access(fmt::format("{}/{}", kJobs, job).c_str(), F_OK) != 0) continue;
            report.error(
                fmt::format("job {0} is over and has left {1}/{0}: restart slurmd, or "
                            "run 'batchai-helper teardown --job {0}'",
                            job, kJobs));
        } else {
            continue;
        }
        clean = false;
    }
    if (clean) report.ok(fmt::format("none in {}", kJobs));
}

}  // namespace

const std::vector<Check>& trials() {
    static const std::vector<Check> all = {
        {"mount", "whether each mount of the policy can be made, and read by users", "",
         try_policy},
        {"leftovers", "what jobs that are over have left in /run/batchai", "", look_for_leftovers},
        {"ranks", "whether two ranks start under PMIx servers", "", try_ranks},
        {"options", "whether srun loads the plugin", "Look at the lines about plugstack and plugin",
         try_srun},
    };
    return all;
}

}  // namespace batchai::cli
