// SPDX-License-Identifier: Apache-2.0
#include "cli/admin/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "slurm/command.hpp"
#include "sys/file.hpp"
#include "sys/trusted.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

// If the line gives no directory, the plugin is searched in PluginDir, as Slurm does.
std::string plugin_path(const std::string& plugin, const std::string& directories) {
    std::istringstream list(directories);
    for (std::string directory; plugin[0] != '/' && std::getline(list, directory, ':');) {
        std::error_code error;
        if (fs::exists(fs::path(directory) / plugin, error)) return fs::path(directory) / plugin;
    }
    return plugin;
}

std::vector<Check> all_checks() {
    std::vector<Check> all = slurm_checks();
    for (const auto& some : {program_checks(), policy_checks(), home_checks()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

// slurmctld names the file of its own machine, or none if slurm.conf does not: then it is beside
// slurm.conf. A node without a configuration of its own has a copy that slurmctld has sent
// (configless Slurm).
std::string plugstack_here(const std::string& slurm) {
    const std::string received = "/run/slurm/conf/plugstack.conf";
    std::string slurmctlds = slurm::value_of(slurm, "PlugStackConfig");
    if (!slurmctlds.starts_with('/'))
        slurmctlds =
            fs::path(slurm::value_of(slurm, "SLURM_CONF")).replace_filename("plugstack.conf");
    const bool is_configless = sys::is_missing(slurmctlds) && !sys::is_missing(received);
    return is_configless ? received : slurmctlds;
}

}  // namespace

const char* name_of(State state) {
    switch (state) {
        case State::ok:
            return "ok";
        case State::warning:
            return "warning";
        case State::error:
            return "error";
    }
    return "";
}

Machine read_machine(const std::string& plugstack) {
    Machine machine;
    machine.slurm = slurm::configuration();
    machine.is_slurms_plugstack = plugstack.empty();
    if (!plugstack.empty())
        machine.plugstack = plugstack;
    else if (machine.slurm)
        machine.plugstack = plugstack_here(*machine.slurm);
    machine.lines = find_our_lines(machine.plugstack);
    machine.libexec = BATCHAI_LIBEXEC;
    if (const PlugstackLine* line = machine.line()) {
        machine.plugin = plugin_path(
            line->plugin, machine.slurm ? slurm::value_of(*machine.slurm, "PluginDir") : "");
        machine.libexec = line->argument("libexec", machine.libexec);
        machine.policy_file = line->argument("policy", machine.policy_file);
    }
    machine.policy = job::load_policy(machine.policy_file);
    return machine;
}

void Report::add(State state, const std::string& what) {
    const std::string cure = check_.cure;
    findings_.push_back({check_.name, state, cure.empty() ? what : what + ". " + cure});
}

const std::vector<Check>& checks() {
    static const std::vector<Check> all = all_checks();
    return all;
}

std::vector<Finding> run(const std::vector<Check>& table, const Machine& machine) {
    std::vector<Finding> findings;
    for (const Check& check : table) {
        Report report(check, findings);
        check.look(machine, report);
    }
    return findings;
}

bool has_error(const std::vector<Finding>& findings) {
    return std::ranges::any_of(findings, [](const Finding& f) { return f.state == State::error; });
}

sys::Result<void> is_roots_alone(const std::string& path) {
    const auto opened = sys::open_trusted(path, {.flags = O_PATH, .checks = true});
    return opened ? sys::Result<void>() : opened.error();
}

}  // namespace batchai::cli
