// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/end.hpp"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "spank/helper/namespace.hpp"
#include "spank/helper/setup.hpp"
#include "spank/protocol.hpp"

namespace batchai::spank {
namespace {

constexpr int kRemoveSeconds = 30;

// As the user. nftw: its callback has no place for our own data.
int remove_entry(const char* path, const struct stat* info, int kind, struct FTW*) {
    if (kind == FTW_DNR) chmod(path, info->st_mode | 0700);
    ::remove(path);
    return 0;
}

// Twice: what could not be entered has been opened up by the first round.
void remove_tree(const std::string& path) {
    for (int round = 0; round < 2; ++round)
        nftw(path.c_str(), remove_entry, 32, FTW_PHYS | FTW_MOUNT | FTW_DEPTH);
}

}  // namespace

void add_owner(Fields& state, const Credentials& user, const std::string& job_temp) {
    state.add("uid", user.uid);
    state.add("gid", user.gid);
    std::string groups;
    for (const gid_t group : user.groups) groups += std::to_string(group) + ",";
    state.add("groups", groups);
    state.add("job_temp", job_temp);
}

void end_job(const JobDirectory& directory) {
    const Fields state = directory.state();
    end_namespace(directory);
    const std::string job_temp = state.get("job_temp");
    const auto uid = state.number("uid");
    const auto gid = state.number("gid");
    if (!job_temp.empty() && uid && gid) {
        Credentials user{*uid, *gid, {}};
        (void)as_user(user, kRemoveSeconds, [&]() -> sys::Result<Answer> {
            remove_tree(job_temp);
            return Answer{};
        });
    }
    directory.clear();
}

void finish_interrupted_ends() {
    for (const unsigned job : JobDirectory::all()) {
        const auto directory = JobDirectory::open(job, false);
        if (!directory || !directory->has(kEndingFile)) continue;
        end_job(*directory);
        directory->remove();
    }
}

int tear_down(unsigned job) {
    const auto directory = JobDirectory::open(job, true);
    if (!directory) return 0;
    (void)directory->touch(kEndingFile);
    end_job(*directory);
    directory->remove();
    return 0;
}

int sweep() {
    if (auto made = prepare_base(); !made) {
        std::fprintf(stderr, "batchai-helper: %s\n", made.error().message.c_str());
        return 1;
    }
    finish_interrupted_ends();
    // A namespace that is not pinned any more is one from before a reboot.
    for (const unsigned job : JobDirectory::all()) {
        const auto directory = JobDirectory::open(job, false);
        if (!directory || directory->state().get("namespace") != "own" || is_pinned(*directory))
            continue;
        end_job(*directory);
        directory->remove();
    }
    return 0;
}

}  // namespace batchai::spank
