// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "launcher/cli/external.hpp"
#include "launcher/cli/machine.hpp"
#include "launcher/paths.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobs = "/run/batchai/jobs";

// Lines "ok WHAT" and "failed WHAT: why" of `batchai-helper try`.
void try_mounts(const Installation& installed, Findings& findings) {
    const auto tried =
        run_program({installed.libexec + "/batchai-helper", "try", "--policy", installed.policy});
    if (!tried) return findings.error("mount", tried.error().message);
    std::istringstream lines(tried->out);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        const std::string what = line.substr(std::min(space, line.size() - 1) + 1);
        if (line.starts_with("ok ")) {
            findings.ok("mount", what);
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

// Slurm's numbers of jobs that are not over.
std::vector<std::string> running_jobs(Findings& findings) {
    const auto queue = run_program({"squeue", "--noheader", "--all", "--format=%A"});
    std::vector<std::string> jobs;
    if (!queue || queue->status != 0) {
        findings.warning("leftovers", "squeue does not answer: every job on this node counts");
        return jobs;
    }
    std::istringstream lines(queue->out);
    for (std::string line; std::getline(lines, line);) jobs.push_back(line);
    return jobs;
}

void look_for_leftovers(Findings& findings) {
    std::error_code none;
    const fs::directory_iterator jobs(kJobs, none);
    const auto running = running_jobs(findings);
    bool clean = true;
    for (const auto& job : jobs) {
        const std::string number = job.path().filename();
        if (std::find(running.begin(), running.end(), number) != running.end()) continue;
        clean = false;
        findings.error("leftovers",
                       fmt::format("job {} is over and has left {}: restart slurmd, or run "
                                   "'batchai-helper teardown --job {}'",
                                   number, job.path().string(), number));
    }
    if (clean) findings.ok("leftovers", fmt::format("none in {}", kJobs));
}

}  // namespace

void try_machine(const Installation& installed, Findings& findings) {
    if (::geteuid() == 0) {
        try_mounts(installed, findings);
        look_for_leftovers(findings);
    } else {
        findings.warning("mount", "mounts and leftovers are not tried: needs root");
    }
    try_ranks(findings);
}

}  // namespace batchai::cli
