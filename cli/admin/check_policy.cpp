// SPDX-License-Identifier: Apache-2.0
//
// Checks of the site policy, and of the files and programs that it names on this machine.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/admin/machine.hpp"
#include "job/container.hpp"
#include "sys/digest.hpp"
#include "sys/file.hpp"
#include "sys/trusted.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

void check_policy_file(const Machine& machine, Report& report) {
    if (!machine.policy) {
        std::istringstream lines(machine.policy.error().message);
        for (std::string line; std::getline(lines, line);) report.error(line);
        return;
    }
    const auto digest = sys::file_sha256(machine.policy_file);
    if (auto good = is_roots_alone(machine.policy_file); !good)
        report.error(good.error().message);
    else
        report.ok(machine.policy_file + (digest ? ", SHA-256 " + *digest : ""));
}

void check_login_paths(const Machine& machine, Report& report) {
    if (!machine.policy) return;
    for (const auto& volume : machine.policy->volumes) {
        std::error_code error;
        if (!volume.login_path.empty() && !fs::is_directory(volume.login_path, error))
            report.warning(fmt::format("{} {}: login_path {} is not a directory here",
                                       job::kind_of(volume.kind).name, volume.name,
                                       volume.login_path));
    }
}

std::set<std::string> stored_files(const job::SitePolicy& policy) {
    std::set<std::string> files;
    for (const auto* entry : job::file_systems(policy))
        if (entry->credentials.kind == job::CredentialsSource::Kind::store)
            files.insert(policy.credentials + "/" + entry->credentials.name);
    return files;
}

// Programs that get credentials from the store.
void check_store_programs(const Machine& machine, Report& report) {
    if (!machine.policy) return;
    std::set<std::string> programs;
    for (const auto* entry : job::file_systems(*machine.policy)) {
        if (entry->credentials.kind != job::CredentialsSource::Kind::store) continue;
        const auto program = machine.policy->programs.find(entry->program);
        if (program != machine.policy->programs.end())
            programs.insert(program->second.command.front());
    }
    for (const auto& program : programs) {
        if (auto good = is_roots_alone(program); !good)
            report.error(good.error().message);
        else
            report.ok(program);
    }
}

// A program without the store's credentials may read a configuration of its user that names
// commands.
void check_users_programs(const Machine& machine, Report& report) {
    if (!machine.policy) return;
    std::set<std::string> programs;
    for (const auto* entry : job::file_systems(*machine.policy))
        if (job::kind_of(entry->type).has_program &&
            entry->credentials.kind != job::CredentialsSource::Kind::store)
            programs.insert(entry->program);
    for (const auto& program : programs)
        report.ok(program +
                  ": runs without credentials of the store: it may run commands of the job's user, "
                  "with the user's rights, in the job's cgroup");
}

// One file of the credentials store. Only root can read its mode.
void check_stored(const std::string& path, Report& report) {
    const auto file = sys::open_trusted(path, {.flags = O_PATH, .checks = true});
    struct stat info = {};
    if (!file)
        report.error(file.error().message);
    else if (::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode) ||
             (info.st_mode & 077) != 0)
        report.error(path + ": must be a file of root that only root can read (chmod 600)");
    else
        report.ok(path);
}

void check_store(const Machine& machine, Report& report) {
    if (!machine.policy) return;
    const auto files = stored_files(*machine.policy);
    if (files.empty()) return;
    const std::string& directory = machine.policy->credentials;
    const auto store =
        sys::open_trusted(directory, {.flags = O_PATH | O_DIRECTORY, .checks = true});
    const bool hidden = !store && ::access(directory.c_str(), F_OK) != 0;
    if (::geteuid() != 0 && (store || hidden)) return;
    if (!store) return report.error(store.error().message);
    for (const auto& file : files) check_stored(file, report);
}

// All users share this directory. It must belong to root and have the sticky bit, so that no user
// can exchange another user's directory.
void check_job_temp(const Machine& machine, Report& report) {
    if (!machine.policy) return;
    std::error_code error;
    const fs::path directory = fs::canonical(machine.policy->job_temp, error);
    if (error) return;  // the doctor reports it on a node
    struct stat info = {};
    const bool good = ::stat(directory.c_str(), &info) == 0 && info.st_uid == 0 &&
                      ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (info.st_mode & S_ISVTX) != 0);
    if (auto above = is_roots_alone(directory.parent_path()); !above)
        report.warning(above.error().message);
    else if (!good)
        report.warning(directory.string() +
                       ": users can exchange each other's directories in it: chown root, "
                       "chmod 1777");
}

void check_commands(const std::map<std::string, job::ProgramPolicy>& programs, Report& report) {
    for (const auto& [name, program] : programs)
        if (auto there = job::check_program(program); !there)
            report.error(there.error().in(name).message);
}

void check_programs(const Machine& machine, Report& report) {
    if (machine.policy) check_commands(machine.policy->programs, report);
}

void check_containers(const Machine& machine, Report& report) {
    if (machine.policy) check_commands(machine.policy->containers, report);
}

void check_images(const Machine& machine, Report& report) {
    if (!machine.policy) return;
    for (const auto& image : machine.policy->images)
        if (auto there = job::check_image(image); !there)
            report.error(there.error().in(image.name).message);
}

void check_fuse(const Machine& machine, Report& report) {
    constexpr const char* kDevice = "/dev/fuse";
    constexpr int kMisc = 10, kFuse = 229;  // minor numbers of Linux's device list
    if (!machine.policy || !uses(*machine.policy, job::MountType::fuse)) return;
    struct stat info = {};
    if (::stat(kDevice, &info) != 0)
        report.error(sys::errno_error(kDevice).message + ": no [program.NAME] can mount");
    else if (!S_ISCHR(info.st_mode) || info.st_rdev != makedev(kMisc, kFuse))
        report.error(std::string(kDevice) +
                     ": is not the device 10:229: no [program.NAME] can "
                     "mount");
    else
        report.ok(kDevice);
}

void check_kernel(const Machine& machine, Report& report) {
    constexpr std::size_t kLargest = 16 << 20;
    if (!machine.policy) return;
    utsname kernel = {};
    ::uname(&kernel);
    const std::string aliases = fmt::format("/lib/modules/{}/modules.alias", kernel.release);
    const auto loaded = sys::read_file("/proc/filesystems", kLargest);
    const auto modules = sys::read_file(aliases, kLargest);
    for (const job::MountKind& kind : job::kMountKinds) {
        if (kind.module == nullptr || !uses(*machine.policy, kind.type)) continue;
        const std::string entry = fmt::format("\t{}\n", kind.module);
        const std::string alias = fmt::format("alias fs-{} ", kind.module);
        if ((loaded && loaded->find(entry) != loaded->npos) ||
            (modules && modules->find(alias) != modules->npos))
            continue;
        if (modules)
            report.error(
                fmt::format("{}: neither the kernel nor its modules have {}, which the "
                            "policy's type \"{}\" needs",
                            aliases, kind.module, kind.name));
        else
            report.warning(
                fmt::format("/proc/filesystems: has no {}, which the policy's type "
                            "\"{}\" needs, and its module is not known",
                            kind.module, kind.name));
    }
}

}  // namespace

bool uses(const job::SitePolicy& policy, job::MountType type) {
    const auto all = job::file_systems(policy);
    return std::ranges::any_of(all, [&](const auto* entry) { return entry->type == type; });
}

std::vector<Check> policy_checks() {
    return {
        {"policy", "the site policy: its words, and whether only root can change it", "",
         check_policy_file},
        {"storage", "the policy's login_path directories",
         "Mount it, or leave login_path out on a machine where nothing is submitted",
         check_login_paths},
        {"program", "whether only root can change programs that get stored credentials", "",
         check_store_programs},
        {"program", "which programs may run commands of a user", "", check_users_programs},
        {"credentials", "the files of the store that the policy names", "", check_store},
        {"job temp", "who can change the directory of jobs' temporary directories", "",
         check_job_temp},
        {"program", "the policy's [program.NAME] commands",
         "Install it, or take what names it out of the policy", check_programs},
        {"container", "the policy's [container.NAME] commands",
         "Install it, or take what names it out of the policy", check_containers},
        {"image", "the policy's images", "", check_images},
        {"fuse", "/dev/fuse, if the policy has a type \"fuse\"",
         "Load the kernel's module: modprobe fuse", check_fuse},
        {"kernel", "the kernel's file systems for the policy's types",
         "Install the kernel's modules (linux-modules-extra), or take the type out of the policy",
         check_kernel},
    };
}

}  // namespace batchai::cli
