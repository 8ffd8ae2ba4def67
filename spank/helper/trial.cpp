// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/trial.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>

#include "spank/helper/mount.hpp"
#include "spank/helper/trusted_policy.hpp"

namespace batchai::spank {
namespace {

constexpr int kSeconds = 10;  // a source may be on a dead server

struct Trial {
    std::string what;
    job::Mount mount;
};

std::vector<Trial> trials_of(const job::SitePolicy& policy) {
    std::vector<Trial> trials;
    for (const auto& share : policy.shares) {
        job::Mount mount;
        mount.source = share.source;
        mount.read_only = share.read_only;
        trials.push_back({fmt::format("share {}, bind {}", share.share, share.source), mount});
    }
    for (const auto& allow : policy.allowed) {
        job::Mount mount;
        mount.type = allow.type;
        mount.source = allow.source;
        mount.read_only = allow.read_only;
        if (allow.type != job::MountType::bind) mount.size = allow.max_size;
        const char* type = allow.type == job::MountType::bind      ? "bind "
                           : allow.type == job::MountType::overlay ? "overlay "
                                                                   : "tmpfs";
        trials.push_back({std::string("allow, ") + type + allow.source, mount});
    }
    for (Trial& trial : trials) trial.mount.target = "trial";
    return trials;
}

// In a process of its own, which may hang.
sys::Result<Answer> make(const job::Mount& mount, const job::SitePolicy& policy,
                         const Credentials& user) {
    if (unshare(CLONE_NEWNS) != 0) return sys::errno_error("unshare");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return sys::errno_error("making the mounts private");
    std::vector<sys::UniqueFd> sources;
    if (mount.type != job::MountType::tmpfs) {
        auto source = open_source(mount);
        if (!source) return source.error();
        sources.push_back(*std::move(source));
    }
    if (auto made = make_mounts({mount}, sources, policy, user); !made) return made.error();
    return Answer{};
}

}  // namespace

int try_mounts(const std::string& policy_file) {
    const auto policy = load_trusted_policy(policy_file);
    if (!policy) {
        std::fprintf(stderr, "batchai-helper: %s\n", policy.error().message.c_str());
        return 1;
    }
    const Credentials self{geteuid(), getegid(), {}};
    int code = 0;
    for (const Trial& trial : trials_of(*policy)) {
        const auto made = as_user(self, kSeconds, [&] { return make(trial.mount, *policy, self); });
        if (!made) code = 1;
        std::printf("%s %s%s\n", made ? "ok" : "failed", trial.what.c_str(),
                    made ? "" : (": " + made.error().message).c_str());
    }
    return code;
}

}  // namespace batchai::spank
