// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/trial.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "spank/helper/mount.hpp"
#include "spank/helper/trusted_policy.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

constexpr int kSeconds = 10;  // a source may be on a dead server
const Credentials kNobody{kNobodyId, kNobodyId, {}};

struct Trial {
    std::string what;
    job::Mount mount;
    std::string cannot;  // why this one cannot be tried; empty: it can
};

std::string why_not(const job::FileSystem& file_system) {
    using Kind = job::CredentialsSource::Kind;
    const auto kind = file_system.credentials.kind;
    if (kind == Kind::user || kind == Kind::job) return "its credentials are a user's";
    if (file_system.type == job::MountType::fuse) return "a program makes it for a job's user";
    if (file_system.type == job::MountType::squashfs &&
        std::filesystem::is_directory(file_system.source))
        return "users name the images in it";
    return {};
}

std::vector<Trial> trials_of(const job::SitePolicy& policy) {
    std::vector<Trial> trials;
    const auto add = [&](const std::string& who, const auto& entry) {
        const job::FileSystem& file_system = entry.file_system;
        job::Mount mount = job::mount_of(job::entry_name(entry), file_system, "");
        mount.target = "trial";
        if (auto* memory = job::part_of<job::InMemory>(mount)) memory->size = file_system.max_size;
        std::string source = job::source_of(mount);
        if (!source.empty()) source.insert(0, " ");
        trials.push_back({fmt::format("{}, {}{}", who, job::name_of(file_system.type), source),
                          mount, why_not(file_system)});
    };
    for (const auto& volume : policy.volumes)
        add(fmt::format("{} {}", job::name_of(volume.kind), volume.name), volume);
    for (const auto& allow : policy.allowed)
        add(allow.name.empty() ? "allow" : "allow " + allow.name, allow);
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
        if (!is_opened_by_user(mount, policy)) continue;
        auto source = open_source(mount, policy);
        if (!source) return source.error();
        sources.push_back(*std::move(source));
    }
    if (auto made = make_mounts(mounts, sources, policy, user, nullptr); !made) return made.error();
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
    const std::string line = what + (done ? "" : ": " + done.error().message);
    std::printf("%s %s\n", done ? "ok" : "failed", sys::printable(line).c_str());
    return done.has_value();
}

}  // namespace

int try_policy(const std::string& policy_file) {
    const auto policy = load_trusted_policy(policy_file);
    if (!policy) {
        std::fprintf(stderr, "batchai-helper: %s\n",
                     sys::printable(policy.error().message).c_str());
        return 1;
    }
    const Credentials self{geteuid(), getegid(), {}};
    bool good = attempt("job temp " + policy->job_temp, self.uid == 0 ? kNobody : self,
                        [&] { return make_temporary_directory(policy->job_temp); });
    // Without it no mount can be made.
    if (!attempt("mount root " + policy->mount_root, self, [&] { return make({}, *policy, self); }))
        return 1;
    for (const Trial& trial : trials_of(*policy)) {
        if (!trial.cannot.empty())
            std::printf("skipped %s: %s\n", sys::printable(trial.what).c_str(),
                        trial.cannot.c_str());
        else
            good &= attempt(trial.what, self, [&] { return make({trial.mount}, *policy, self); });
    }
    return good ? 0 : 1;
}

}  // namespace batchai::spank
