// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/cgroup.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "spank/helper/fields.hpp"
#include "sys/file.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProcMaximum = 16 * 1024 * 1024;

// Together a second.
constexpr int kRounds = 100;
constexpr int kRoundMicroseconds = 10000;

// The part of a cgroup's path up to Slurm's last "job_17": slurmd may run in another job. Empty:
// Slurm has made no cgroup.
std::string jobs_cgroup(std::string_view path) {
    std::string job;
    std::string part;
    for (const auto& name : split_nonempty(path, '/')) {
        part += "/" + name;
        if (name.starts_with("job_")) job = part;
    }
    return job;
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

// Slurm's programs lock the hierarchy (version 1) or the scope (version 2) while they make or
// remove a job's cgroup. Any user can hold such a lock, so the wait is short.
bool take_lock(int directory) {
    for (int round = 0; round < kRounds; ++round) {
        if (flock(directory, LOCK_EX | LOCK_NB) == 0) return true;
        usleep(kRoundMicroseconds);
    }
    return false;
}

// Version 1 has a directory for each user, above those of the user's jobs.
bool is_of_user(const fs::path& above_job) {
    return above_job.filename().string().starts_with("uid_");
}

// Removes the cgroups that Slurm could not remove because of ours. A cgroup that batchai 0.2 made
// is not in a job's.
void remove_slurms(const fs::path& job) {
    if (!job.filename().string().starts_with("job_")) return;
    const fs::path above = job.parent_path();
    const bool version_1 = is_of_user(above);
    const fs::path locked = version_1 ? above.parent_path().parent_path() : above;
    const sys::UniqueFd lock(open(locked.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || !take_lock(lock.get())) return;
    if (rmdir(job.c_str()) == 0 && version_1) rmdir(above.c_str());
}

}  // namespace

sys::Result<std::vector<std::string>> daemon_cgroups(std::string_view cgroups,
                                                     std::string_view mounts) {
    std::vector<std::string> directories;
    for (const auto& line : split_nonempty(cgroups, '\n')) {  // 6:freezer:/slurm_n1/uid_1000/job_17
        const auto first = line.find(':');
        const auto second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string job = jobs_cgroup(line.substr(second + 1));
        if (job.empty()) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        const auto names = split_nonempty(controllers, ',');
        const std::string found = find_in_mounts(mounts, names.empty() ? "" : names.front(), job);
        if (found.empty())
            return sys::Error{"cgroup " + line +
                              ": is not mounted, so a FUSE program cannot leave the step's cgroup"};
        directories.push_back(found + "/batchai");
    }
    return directories;
}

sys::Result<std::vector<std::string>> find_daemon_cgroups() {
    const auto cgroups = read_proc("/proc/self/cgroup");
    if (!cgroups) return cgroups.error();
    const auto mounts = read_proc("/proc/self/mountinfo");
    if (!mounts) return mounts.error();
    return daemon_cgroups(*cgroups, *mounts);
}

sys::Result<std::vector<std::string>> find_helper_cgroups() {
    auto cgroups = find_daemon_cgroups();
    if (!cgroups) return cgroups;
    for (std::string& directory : *cgroups) {
        const fs::path above = fs::path(directory).parent_path().parent_path();
        directory = (is_of_user(above) ? above.parent_path() : above) / "batchai_helper";
    }
    return cgroups;
}

sys::Result<void> enter_cgroup(const std::string& directory, pid_t pid) {
    if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return sys::errno_error(directory);
    const bool version_1 = access((directory + "/tasks").c_str(), F_OK) == 0;
    const auto cpus = version_1 ? read_proc((directory + "/cpuset.cpus").c_str())
                                : sys::Result<std::string>("none here");
    if (cpus && (cpus->empty() || *cpus == "\n"))  // also if another helper has made it
        if (auto copied = copy_cpuset(directory); !copied) return copied;
    return write_cgroup(directory + "/cgroup.procs", std::to_string(pid));
}

void remove_cgroup(const std::string& directory) {
    for (int round = 0; round < kRounds; ++round) {
        if (rmdir(directory.c_str()) == 0 || errno == ENOENT)
            return remove_slurms(fs::path(directory).parent_path());
        if (errno != EBUSY) return;
        usleep(kRoundMicroseconds);
    }
}

}  // namespace batchai::spank
