// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/trial.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "spank/helper/mount.hpp"
#include "spank/helper/trusted_policy.hpp"

namespace batchai::spank {
namespace {

constexpr int kSeconds = 10;  // a source may be on a dead server
const Credentials kNobody{65534, 65534, {}};

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
sys::Result<Answer> make(const std::vector<job::Mount>& mounts, const job::SitePolicy& policy,
                         const Credentials& user) {
    if (unshare(CLONE_NEWNS) != 0) return sys::errno_error("unshare");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return sys::errno_error("making the mounts private");
    std::vector<sys::UniqueFd> sources;
    for (const auto& mount : mounts) {
        if (mount.type == job::MountType::tmpfs) continue;
        auto source = open_source(mount);
        if (!source) return source.error();
        sources.push_back(*std::move(source));
    }
    if (auto made = make_mounts(mounts, sources, policy, user); !made) return made.error();
    return Answer{};
}

// As setup makes a job's.
sys::Result<Answer> make_temporary_directory(const std::string& below) {
    std::string path = below + "/batchai-trial-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return sys::errno_error("as nobody");
    if (rmdir(path.c_str()) != 0) return sys::errno_error(path);
    return Answer{};
}

// Prints how it went. True: well.
bool attempt(const std::string& what, const Credentials& user,
             const std::function<sys::Result<Answer>()>& work) {
    const auto done = as_user(user, kSeconds, work);
    std::printf("%s %s%s\n", done ? "ok" : "failed", what.c_str(),
                done ? "" : (": " + done.error().message).c_str());
    return done.has_value();
}

}  // namespace

int try_policy(const std::string& policy_file) {
    const auto policy = load_trusted_policy(policy_file);
    if (!policy) {
        std::fprintf(stderr, "batchai-helper: %s\n", policy.error().message.c_str());
        return 1;
    }
    const Credentials self{geteuid(), getegid(), {}};
    bool good = attempt("job temp " + policy->job_temp, self.uid == 0 ? kNobody : self,
                        [&] { return make_temporary_directory(policy->job_temp); });
    // Without it no mount can be made.
    if (!attempt("mount root " + policy->mount_root, self, [&] { return make({}, *policy, self); }))
        return 1;
    for (const Trial& trial : trials_of(*policy))
        good &= attempt(trial.what, self, [&] { return make({trial.mount}, *policy, self); });
    return good ? 0 : 1;
}

}  // namespace batchai::spank
