// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/admin/machine.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "job/container.hpp"
#include "job/policy.hpp"
#include "launcher/cli/admin/plugstack.hpp"
#include "launcher/cli/slurm/slurm.hpp"
#include "sys/digest.hpp"
#include "sys/trusted.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

// "22.05" of "22.05.8": what a plugin must be built for.
std::string release_of(const std::string& version) {
    return version.substr(0, version.find('.', version.find('.') + 1));
}

struct Slurm {
    std::string version;
    std::string plugin_directories;
    std::string plugstack = "/etc/slurm/plugstack.conf";
};

// The helper finds the processes of an ended job by its mounts; only a cgroup holds all of them.
void check_tracking(Findings& findings, const std::string& plugin) {
    if (plugin == "proctrack/cgroup") {
        findings.ok("processes", plugin);
    } else {
        findings.warning("processes",
                         fmt::format("ProctrackType is {}: a process that hides can outlive its "
                                     "job and keep the job's mounts. Set proctrack/cgroup in "
                                     "slurm.conf",
                                     plugin));
    }
}

// Without a prolog at the allocation no node knows that a job has options of ours which a step from
// another shell lacks. "Contain" includes "Alloc", and Slurm shows both.
void check_prolog(Findings& findings, const std::string& flags) {
    if (flags.find("Alloc") != std::string::npos) {
        findings.ok("prolog", "PrologFlags=" + flags);
    } else {
        findings.warning("prolog",
                         "PrologFlags lacks Contain: a step from a shell that does not know its "
                         "job's options (srun --jobid) can run without the job's mounts. Set "
                         "PrologFlags=Contain in slurm.conf");
    }
}

Slurm ask_slurm(Findings& findings) {
    Slurm slurm;
    const auto config = slurm_configuration();
    if (!config) {
        findings.warning("slurm", config.error().message);
        return slurm;
    }
    slurm.version = value_of(*config, "SLURM_VERSION");
    slurm.plugin_directories = value_of(*config, "PluginDir");
    slurm.plugstack = value_of(*config, "PlugStackConfig");
    if (release_of(slurm.version) == release_of(SLURM_VERSION)) {
        findings.ok("slurm", slurm.version);
    } else {
        findings.error("slurm",
                       fmt::format("is {}, batchai was built for {}: build it against this "
                                   "release's headers",
                                   slurm.version, SLURM_VERSION));
    }
    check_tracking(findings, value_of(*config, "ProctrackType"));
    check_prolog(findings, value_of(*config, "PrologFlags"));
    return slurm;
}

// Whether only root can change what a path leads to. Checks owners even if the caller is not root.
sys::Result<sys::UniqueFd> open_as_root_would(const std::string& path, int flags = O_PATH) {
    return sys::open_trusted(path, {.flags = flags, .checks = true});
}

// what: more about a file that is in order.
void check_owner(Findings& findings, const std::string& check, const std::string& path,
                 const std::string& what = "") {
    const auto trusted = open_as_root_would(path);
    if (trusted) {
        findings.ok(check, path + what);
    } else {
        findings.error(check, trusted.error().message);
    }
}

// A plugin without a directory is looked for in PluginDir, as Slurm does.
std::string plugin_path(const std::string& plugin, const std::string& directories) {
    std::istringstream list(directories);
    for (std::string directory; plugin[0] != '/' && std::getline(list, directory, ':');)
        if (fs::exists(fs::path(directory) / plugin)) return fs::path(directory) / plugin;
    return plugin;
}

std::optional<PlugstackLine> check_plugstack(Findings& findings, const std::string& file) {
    const auto lines = find_our_lines(file);
    if (!lines) {
        findings.error("plugstack", lines.error().message);
        return std::nullopt;
    }
    if (lines->empty()) {
        findings.error("plugstack", file + ": no line loads spank_batchai.so (spank_batchai(8))");
        return std::nullopt;
    }
    const PlugstackLine& line = lines->front();
    const std::string place = fmt::format("{}:{}", line.file, line.number);
    if (lines->size() > 1) {
        findings.error("plugstack", fmt::format("{} and {}:{} both load spank_batchai.so: keep one",
                                                place, (*lines)[1].file, (*lines)[1].number));
    } else if (!line.required) {
        findings.warning("plugstack", place +
                                          ": 'optional': where the plugin cannot be loaded jobs "
                                          "run without their mounts; write 'required'");
    } else {
        findings.ok("plugstack", place);
    }
    return line;
}

// A file of the store. Only root can look at it.
void check_stored(Findings& findings, const std::string& path) {
    const auto file = open_as_root_would(path);
    struct stat info = {};
    if (!file)
        findings.error("credentials", file.error().message);
    else if (::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode) ||
             (info.st_mode & 077) != 0)
        findings.error("credentials",
                       path + ": must be a file of root that nobody else can read (chmod 600)");
    else
        findings.ok("credentials", path);
}

// What the policy takes from the store, and the programs that get it.
void check_credentials(Findings& findings, const job::SitePolicy& policy) {
    std::set<std::string> files;
    std::set<std::string> programs;
    for (const auto* entry : job::file_systems(policy)) {
        if (entry->credentials.kind != job::CredentialsSource::Kind::store) continue;
        files.insert(policy.credentials + "/" + entry->credentials.name);
        if (const auto program = policy.programs.find(entry->program);
            program != policy.programs.end())
            programs.insert(program->second.command.front());
    }
    if (files.empty()) return;
    for (const auto& program : programs) check_owner(findings, "program", program);
    const auto store = open_as_root_would(policy.credentials, O_PATH | O_DIRECTORY);
    const bool hidden = !store && ::access(policy.credentials.c_str(), F_OK) != 0;
    if (::geteuid() != 0 && (store || hidden)) return;
    if (!store) return findings.error("credentials", store.error().message);
    for (const auto& file : files) check_stored(findings, file);
}

// All users share this directory. It must belong to root and have the sticky bit, so that no user
// can exchange another user's directory.
void check_job_temp(Findings& findings, const job::SitePolicy& policy) {
    std::error_code error;
    const fs::path directory = fs::canonical(policy.job_temp, error);
    if (error) return;  // the doctor says so, on a node
    const auto above = open_as_root_would(directory.parent_path());
    struct stat info = {};
    const bool good = ::stat(directory.c_str(), &info) == 0 && info.st_uid == 0 &&
                      ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (info.st_mode & S_ISVTX) != 0);
    if (!above)
        findings.warning("job temp", above.error().message);
    else if (!good)
        findings.warning("job temp",
                         directory.string() +
                             ": users can exchange each other's directories in it: chown root, "
                             "chmod 1777");
}

void check_programs(Findings& findings, const char* check,
                    const std::map<std::string, job::ProgramPolicy>& programs) {
    for (const auto& [name, program] : programs)
        if (auto there = job::check_program(program); !there)
            findings.error(check, there.error().in(name).message);
}

void check_policy(Findings& findings, const std::string& file) {
    const auto policy = job::load_policy(file);
    if (!policy) {
        std::istringstream lines(policy.error().message);
        for (std::string line; std::getline(lines, line);) findings.error("policy", line);
        return;
    }
    const auto digest = sys::file_sha256(file);
    check_owner(findings, "policy", file, digest ? ", SHA-256 " + *digest : "");
    for (const auto& volume : policy->volumes)
        if (!volume.login_path.empty() && !fs::is_directory(volume.login_path))
            findings.warning(job::name_of(volume.kind),
                             fmt::format("{}: login_path {} is no directory here", volume.name,
                                         volume.login_path));
    check_credentials(findings, *policy);
    check_job_temp(findings, *policy);
    check_programs(findings, "program", policy->programs);
    check_programs(findings, "container", policy->containers);
    for (const auto& image : policy->images)
        if (auto there = job::check_image(image); !there)
            findings.error("image", there.error().in(image.name).message);
}

}  // namespace

Installation check_machine(const std::string& plugstack, Findings& findings) {
    Slurm slurm = ask_slurm(findings);
    if (!plugstack.empty()) slurm.plugstack = plugstack;
    Installation installed;
    if (const auto line = check_plugstack(findings, slurm.plugstack)) {
        check_owner(findings, "plugin", plugin_path(line->plugin, slurm.plugin_directories));
        installed.libexec = line->argument("libexec", installed.libexec);
        installed.policy = line->argument("policy", installed.policy);
    }
    for (const char* program :
         {"batchai-helper", "batchai-prep", "batchai-check", "batchai-fusermount"})
        check_owner(findings, "program", installed.libexec + "/" + program);
    check_policy(findings, installed.policy);
    return installed;
}

}  // namespace batchai::cli
