// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "spank/helper/fields.hpp"
#include "sys/file.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kProcMaximum = 16 * 1024 * 1024;

// The part of a cgroup's path above Slurm's "uid_1000" or "job_17". Empty: Slurm has made no
// cgroup.
std::string above_the_job(std::string_view path) {
    std::string above;
    for (const auto& name : split_nonempty(path, '/')) {
        if (name.starts_with("uid_") || name.starts_with("job_"))
            return above.empty() ? "/" : above;
        above += "/" + name;
    }
    return {};
}

// The directory of a path of the hierarchy: below the first mount that contains the path. The
// controller is "freezer", "name=systemd" and so on, or empty for version 2.
std::string find_in_mounts(std::string_view mounts, const std::string& controller,
                           const std::string& path) {
    for (const auto& line : split_nonempty(mounts, '\n')) {
        const auto dash = line.find(" - ");
        if (dash == line.npos) continue;
        const auto left = split_nonempty(std::string_view(line).substr(0, dash), ' ');
        const auto right = split_nonempty(std::string_view(line).substr(dash + 3), ' ');
        if (left.size() < 5 || right.size() < 3) continue;
        if (right[0] != (controller.empty() ? "cgroup2" : "cgroup")) continue;
        const auto options = split_nonempty(right[2], ',');
        if (!controller.empty() && std::ranges::find(options, controller) == options.end())
            continue;
        const std::string root = left[3] == "/" ? "" : left[3];
        if (path.starts_with(root)) return left[4] + path.substr(root.size());
    }
    return {};
}

sys::Result<std::string> read_proc(const char* path) {
    const sys::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
    if (!file) return sys::errno_error(path);
    auto text = sys::read_all(file.get(), kProcMaximum);
    if (!text) return text.error().in(path);
    return text;
}

sys::Result<void> write_cgroup(const std::string& path, std::string_view text) {
    const sys::UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return sys::errno_error(path);
    if (auto written = sys::write_all(file.get(), text); !written) return written.error().in(path);
    return {};
}

// A new cpuset of version 1 has no CPUs, and no process may enter it.
sys::Result<void> copy_cpuset(const std::string& directory) {
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
        const auto above = read_proc((directory + "/.." + file).c_str());
        if (!above) return above.error();
        if (auto written = write_cgroup(directory + file, *above); !written) return written;
    }
    return {};
}

}  // namespace

sys::Result<std::vector<std::string>> daemon_cgroups(std::string_view cgroups,
                                                     std::string_view mounts,
                                                     const std::string& job) {
    std::vector<std::string> directories;
    for (const auto& line : split_nonempty(cgroups, '\n')) {  // 6:freezer:/slurm_n1/uid_1000/job_17
        const auto first = line.find(':');
        const auto second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string above = above_the_job(line.substr(second + 1));
        if (above.empty()) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        const auto names = split_nonempty(controllers, ',');
        const std::string found = find_in_mounts(mounts, names.empty() ? "" : names.front(), above);
        if (found.empty())
            return sys::Error{"cgroup " + line +
                              ": is not mounted, so a FUSE program cannot leave the step's cgroup"};
        directories.push_back(found + (found.ends_with('/') ? "" : "/") + "batchai_" + job);
    }
    return directories;
}

sys::Result<std::vector<std::string>> find_daemon_cgroups(const std::string& job) {
    const auto cgroups = read_proc("/proc/self/cgroup");
    if (!cgroups) return cgroups.error();
    const auto mounts = read_proc("/proc/self/mountinfo");
    if (!mounts) return mounts.error();
    return daemon_cgroups(*cgroups, *mounts, job);
}

sys::Result<void> enter_cgroup(const std::string& directory, pid_t pid) {
    const bool made = mkdir(directory.c_str(), 0755) == 0;
    if (!made && errno != EEXIST) return sys::errno_error(directory);
    const bool version_1 = access((directory + "/tasks").c_str(), F_OK) == 0;
    if (made && version_1 && access((directory + "/cpuset.cpus").c_str(), F_OK) == 0)
        if (auto copied = copy_cpuset(directory); !copied) return copied;
    return write_cgroup(directory + "/cgroup.procs", std::to_string(pid));
}

void remove_cgroup(const std::string& directory) {
    for (int round = 0; round < 100; ++round) {
        if (rmdir(directory.c_str()) == 0 || errno != EBUSY) return;
        usleep(10000);
    }
}

}  // namespace batchai::spank
