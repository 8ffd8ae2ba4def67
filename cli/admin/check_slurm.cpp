// SPDX-License-Identifier: Apache-2.0
//
// Checks of Slurm, of the parts of its configuration that our jobs depend on, and of the plugin.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/admin/machine.hpp"
#include "slurm/command.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {
namespace {

// "22.05" of "22.05.8". A plugin must be built for this release.
std::string release_of(const std::string& version) {
    return version.substr(0, version.find('.', version.find('.') + 1));
}

void check_release(const Machine& machine, Report& report) {
    if (!machine.slurm) return report.warning(machine.slurm.error().message);
    const std::string version = slurm::value_of(*machine.slurm, "SLURM_VERSION");
    if (release_of(version) == release_of(SLURM_VERSION))
        report.ok(version);
    else
        report.error(
            fmt::format("is {}, batchai was built for {}: build it against this release's "
                        "headers",
                        version, SLURM_VERSION));
}

// The helper finds an ended job's processes by the job's mounts, which may miss some. A cgroup
// holds all of them.
void check_tracking(const Machine& machine, Report& report) {
    if (!machine.slurm) return;
    const std::string plugin = slurm::value_of(*machine.slurm, "ProctrackType");
    if (plugin == "proctrack/cgroup")
        report.ok(plugin);
    else
        report.warning(
            fmt::format("ProctrackType is {}: a process that hides can outlive its job "
                        "and keep the job's mounts",
                        plugin));
}

// Only a prolog at the allocation tells each node that a job has batchai's options. Without it, a
// step from another shell runs unprepared. "Contain" includes "Alloc", and Slurm shows both.
void check_prolog(const Machine& machine, Report& report) {
    if (!machine.slurm) return;
    const std::string flags = slurm::value_of(*machine.slurm, "PrologFlags");
    if (flags.find("Alloc") != std::string::npos)
        report.ok("PrologFlags=" + flags);
    else
        report.warning(
            "PrologFlags lacks Contain: a step from a shell that does not know its job's options "
            "(srun --jobid) can run without the job's mounts");
}

// Three times what the end of a job waits for (kEndSeconds in spank/protocol.hpp).
constexpr unsigned kEnoughForFuse = 90;
// Slurm's own work and a busy node may take this long.
constexpr unsigned kEnough = 10;

// Slurm kills an epilog that takes longer, and drains the node. The plugin waits a third of it for
// the end of a job.
void check_epilog(const Machine& machine, Report& report) {
    if (!machine.slurm) return;
    const std::string own = slurm::value_of(*machine.slurm, "EpilogTimeout");  // of newer releases
    const std::string name = own.empty() ? "PrologEpilogTimeout" : "EpilogTimeout";
    const std::string value = own.empty() ? slurm::value_of(*machine.slurm, name) : own;
    constexpr unsigned kNone = 0xfffe;  // as Slurm shows it
    unsigned seconds = kNone;
    std::istringstream(value) >> seconds;
    if (value.empty() || seconds == 0 || seconds >= kNone) return report.ok("no " + name);
    const bool has_fuse = machine.policy && uses(*machine.policy, job::MountType::fuse);
    if (seconds < kEnough)
        report.warning(fmt::format(
            "{} is {}: on a busy node an epilog can take longer, and Slurm drains the node", name,
            seconds));
    else if (has_fuse && seconds < kEnoughForFuse)
        report.warning(
            fmt::format("{} is {}: a job is over after {} s of waiting for its FUSE programs, "
                        "which may still be writing its data then",
                        name, seconds, seconds / 3));
    else
        report.ok(fmt::format("{}={}", name, seconds));
}

void check_partitions(const Machine& machine, Report& report) {
    if (!machine.slurm || !machine.policy || machine.policy->clusters.empty()) return;
    const auto known = slurm::partition_names();
    if (!known) return report.warning(known.error().message);
    for (const auto& [name, cluster] : machine.policy->clusters) {
        if (cluster.partition.empty()) continue;
        if (std::ranges::find(*known, cluster.partition) != known->end())
            report.ok(fmt::format("{} of [cluster.{}]", cluster.partition, name));
        else
            report.error(fmt::format("{}: [cluster.{}]: Slurm has no partition {}, only {}",
                                     machine.policy_file, name, cluster.partition,
                                     fmt::join(*known, ", ")));
    }
}

void check_lines(const Machine& machine, Report& report) {
    if (!machine.lines) return report.error(machine.lines.error().message);
    const auto& lines = *machine.lines;
    if (lines.empty())
        report.error(machine.plugstack + ": no line loads spank_batchai.so (spank_batchai(8))");
    else if (lines.size() > 1)
        report.error(fmt::format("{} and {} both load spank_batchai.so: keep one", lines[0].place(),
                                 lines[1].place()));
    else
        report.ok(lines.front().place());
}

void check_required(const Machine& machine, Report& report) {
    const PlugstackLine* line = machine.line();
    if (line != nullptr && !line->required)
        report.warning(line->place() +
                       ": 'optional': where the plugin cannot be loaded, jobs run without their "
                       "mounts and preparation, without a message");
}

void check_words(const Machine& machine, Report& report) {
    const PlugstackLine* line = machine.line();
    if (line == nullptr) return;
    for (const std::string& word : line->unknown_words())
        report.error(fmt::format("{}: '{}': the plugin does not know this word, and ignores it",
                                 line->place(), word));
}

// A user who can write to the file gets slurmd's rights. Its owner may be SlurmUser.
void check_plugstack_mode(const Machine& machine, Report& report) {
    std::set<std::filesystem::path> paths{machine.plugstack};
    if (const PlugstackLine* line = machine.line()) paths.insert(line->file);
    for (const auto& file : std::set(paths))
        for (auto path = file.parent_path(); path.has_relative_path(); path = path.parent_path())
            paths.insert(path);
    for (const auto& path : paths) {
        struct stat info = {};
        const bool known = ::stat(path.c_str(), &info) == 0;
        const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
        constexpr uid_t kFirstUser = 1000;
        if (known && info.st_uid >= kFirstUser && !S_ISDIR(info.st_mode))
            report.error(fmt::format("{}: belongs to user {}, who can make root load any plugin",
                                     path.string(), info.st_uid));
        if (known && (info.st_mode & S_IWOTH) != 0 && !sticky)
            report.error(path.string() +
                         ": every user can write to it, and so make root load any plugin");
    }
}

void check_counters(const Machine& machine, Report& report) {
    const PlugstackLine* line = machine.line();
    const std::string directory = line != nullptr ? line->argument("counters", "") : "";
    if (directory.empty()) return;
    if (auto good = is_roots_alone(directory); !good)
        report.error(good.error().message);
    else
        report.ok(directory);
}

void check_plugin_file(const Machine& machine, Report& report) {
    if (machine.plugin.empty()) return;
    if (auto good = is_roots_alone(machine.plugin); !good)
        report.error(good.error().message);
    else
        report.ok(machine.plugin);
}

void check_plugin_release(const Machine& machine, Report& report) {
    if (machine.plugin.empty() || !is_roots_alone(machine.plugin)) return;
    const auto built = built_for(machine.plugin);
    if (!built) return report.error(built.error().message);
    if (built->batchai != BATCHAI_VERSION)
        report.error(fmt::format("{}: is of batchai {}, and this command of {}", machine.plugin,
                                 built->batchai, BATCHAI_VERSION));
    if (!machine.slurm) return;
    const std::string version = slurm::value_of(*machine.slurm, "SLURM_VERSION");
    if (release_of(built->slurm) != release_of(version))
        report.error(
            fmt::format("{}: was built for Slurm {}, and this is {}: every srun, sbatch "
                        "and slurmd refuses it",
                        machine.plugin, built->slurm, version));
}

}  // namespace

std::vector<Check> slurm_checks() {
    return {
        {"slurm", "Slurm's release, and whether slurmctld answers", "", check_release},
        {"processes", "ProctrackType: what holds a job's processes together",
         "Set proctrack/cgroup in slurm.conf", check_tracking},
        {"prolog", "PrologFlags: whether nodes are told of a job at its start",
         "Set PrologFlags=Contain in slurm.conf", check_prolog},
        {"epilog", "PrologEpilogTimeout: whether the end of a job has enough time",
         "Take it out of slurm.conf, or set it to 90 or more", check_epilog},
        {"partition", "the partitions that the policy's [cluster.NAME] tables name",
         "Correct the policy, or make the partition in slurm.conf", check_partitions},
        {"plugstack", "the plugin's line in plugstack.conf and its includes", "", check_lines},
        {"plugstack", "its first word", "Write 'required'", check_required},
        {"plugstack", "its other words",
         "Write policy=FILE, libexec=DIRECTORY or counters=DIRECTORY", check_words},
        {"plugstack", "who can write to the file and the directories above it",
         "Run chmod o-w on it", check_plugstack_mode},
        {"counters", "the directory of counters= in the plugin's line",
         "Make it a directory of root's, and name it to node_exporter", check_counters},
        {"plugin", "whether only root can change the plugin", "", check_plugin_file},
        {"plugin", "the releases of batchai and Slurm that it was built for",
         "Install the plugin of this batchai, built for this Slurm", check_plugin_release},
    };
}

}  // namespace batchai::cli
