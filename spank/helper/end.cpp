// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/end.hpp"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "spank/helper/daemon_notes.hpp"
#include "spank/helper/namespace.hpp"
#include "spank/helper/remove_tree.hpp"
#include "spank/helper/setup.hpp"
#include "spank/protocol.hpp"

namespace batchai::spank {
namespace {

using Clock = std::chrono::steady_clock;

// For what millions of files in a temporary directory may hold up; the rest goes later.
constexpr int kTeardownRemoveSeconds = 30;
constexpr int kOthersSeconds = 10;
// For a FUSE program to write to its server what it still holds.
constexpr int kDaemonSeconds = 20;

// False: it is still there, for it takes longer or holds what the user has no right to remove.
bool remove_as(const Credentials& owner, const std::string& path, int seconds) {
    if (seconds <= 0) return false;
    return as_user(owner, seconds,
                   [&path]() -> sys::Result<Answer> {
                       if (!remove_tree(path)) return sys::Error{path + ": is not empty"};
                       return Answer{};
                   })
        .has_value();
}

bool finish(const JobDirectory& directory, int seconds) {
    if (!end_job(directory, seconds)) return false;
    directory.remove();
    return true;
}

}  // namespace

void add_owner(Fields& state, const Credentials& user, const std::string& job_temp) {
    state.add("uid", user.uid);
    state.add("gid", user.gid);
    state.add("job_temp", job_temp);
}

void end_namespace(const JobDirectory& directory, int seconds) {
    const Fields state = directory.state();
    const auto user = state.number("uid");
    kill_processes(directory, user ? *user : 0, root_mount_source(state.get("job_temp")));
    end_daemons(directory, seconds);
    unpin(directory);
}

bool end_job(const JobDirectory& directory, int seconds) {
    const Fields state = directory.state();
    end_namespace(directory, kDaemonSeconds);
    const auto uid = state.number("uid");
    const auto gid = state.number("gid");
    const std::string job_temp = state.get("job_temp");
    if (uid && gid && !job_temp.empty() && !remove_as({*uid, *gid, {}}, job_temp, seconds))
        return false;
    directory.clear();
    return true;
}

void finish_interrupted_ends(int seconds) {
    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    for (const auto& job : JobDirectory::all()) {
        const auto directory = JobDirectory::open(job, false);
        // Without a state, and nobody works in it: killed before the first or after the last step.
        if (!directory || (!directory->has(kEndingFile) && directory->has(kStateFile))) continue;
        const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - Clock::now()).count();
        (void)finish(*directory, static_cast<int>(std::max<long>(left, 0)));
    }
}

int tear_down(const std::string& job) {
    bool finished = true;
    if (access(kJobsDirectory, W_OK) != 0 && errno != ENOENT) {
        std::fprintf(stderr, "batchai-helper: %s: %s: run it as root\n", kJobsDirectory,
                     std::strerror(errno));
        return 1;
    }
    if (const auto directory = JobDirectory::open(job, true); directory) {
        (void)directory->touch(kEndingFile);  // the plugin has done so already, before our lock
        finished = finish(*directory, kTeardownRemoveSeconds);
        if (!finished)
            std::fprintf(stderr,
                         "batchai-helper: %s: is not removed yet: it takes longer, or holds "
                         "what is not the user's; the next end of a job goes on\n",
                         directory->state().get("job_temp").c_str());
    }
    finish_interrupted_ends(kOthersSeconds);
    return finished ? 0 : 1;
}

}  // namespace batchai::spank
