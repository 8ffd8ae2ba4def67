// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/end.hpp"

#include <stdio.h>

#include "spank/helper/namespace.hpp"
#include "spank/helper/remove_tree.hpp"
#include "spank/helper/setup.hpp"
#include "spank/protocol.hpp"

namespace batchai::spank {
namespace {

constexpr int kRemoveSeconds = 30;

}  // namespace

void add_owner(Fields& state, const Credentials& user, const std::string& job_temp) {
    state.add("uid", user.uid);
    state.add("job_temp", job_temp);
}

void end_job(const JobDirectory& directory) {
    const Fields state = directory.state();
    end_namespace(directory);
    const std::string job_temp = state.get("job_temp");
    const auto uid = state.number("uid");
    if (!job_temp.empty() && uid) (void)remove_tree(job_temp, *uid, kRemoveSeconds);
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
