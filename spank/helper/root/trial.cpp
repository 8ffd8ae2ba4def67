// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/setup.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "spank/helper/exit_code.hpp"
#include "spank/helper/root/child.hpp"
#include "spank/helper/root/mount.hpp"
#include "spank/helper/root/trusted_policy.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

constexpr int kSeconds = 10;  // a source may be on a dead server
const Credentials kNobody{kNobodyId, kNobodyId, {}};

struct Trial {
    std::string what;
    job::Mount mount;
    std::string cannot;  // why this mount cannot be tried; empty: it can
};

std::string why_not(const job::FileSystem& file_system) {
    using Kind = job::CredentialsSource::Kind;
    const auto kind = file_system.credentials.kind;
    if (kind == Kind::user || kind == Kind::job) return "it needs a user's credentials";
    if (job::kind_of(file_system.type).has_program) return "its FUSE program runs as a job's user";
    return {};
}

std::vector<Trial> trials_of(const job::SitePolicy& policy) {
    std::vector<Trial> trials;
    const auto add = [&](const std::string& who, const auto& entry) {
        const job::FileSystem& file_system = entry.file_system;
        job::Mount mount = job::mount_of(job::entry_name(entry), file_system, "");
        mount.target = "trial";
        if (mount.kind().in_memory) mount.size = file_system.max_size;
        const std::string source = mount.source.empty() ? "" : " " + mount.source;
        trials.push_back(
            {fmt::format("{}, {}{}", who, mount.kind().name, source), mount, why_not(file_system)});
    };
    for (const auto& volume : policy.volumes)
        add(fmt::format("{} {}", job::kind_of(volume.kind).name, volume.name), volume);
    for (const auto& allow : policy.allowed)
        add(allow.name.empty() ? "allow" : "allow " + allow.name, allow);
    return trials;
}

// Runs as user nobody, because the source may be on a dead server. Empty: the image can be tried.
sys::Result<Answer> why_no_image(const std::string& path) {
    struct stat info = {};  // the trial reports an error
    if (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return Answer{};
    if (access(path.c_str(), X_OK) != 0) return Answer{};
    return Answer{"users choose the images in it", {}};
}

bool can_read(const std::string& path) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) return false;
    return access(path.c_str(), S_ISDIR(info.st_mode) ? R_OK | X_OK : R_OK) == 0;
}

// The reason for which user nobody, with the rights of every user, cannot read a path. An answer
// without an error is a warning: some users can read it, or may be able to.
sys::Result<Answer> explain(const std::string& path, int code) {
    if (code != EACCES) return sys::errno_error(path, code);
    for (std::size_t end = 0; end != path.npos;) {
        end = path.find('/', end + 1);
        const std::string part = path.substr(0, end);
        struct stat info = {};
        if (stat(part.c_str(), &info) != 0) return sys::errno_error(part);
        const mode_t others = end == path.npos && !S_ISDIR(info.st_mode) ? S_IROTH
                              : end == path.npos                         ? S_IROTH | S_IXOTH
                                                                         : S_IXOTH;
        if ((info.st_mode & others) == others) continue;
        const bool of_group = info.st_gid != 0 && (info.st_mode & others << 3) == others << 3;
        if (!of_group && info.st_uid == 0)
            return sys::Error{fmt::format("{}: users cannot read it, its mode is {:04o}: chmod {}",
                                          part, info.st_mode & 07777,
                                          others == S_IROTH ? "o+r" : "o+rx")};
        return Answer{
            fmt::format("{}: only {} {} can read it: jobs of other users fail", part,
                        of_group ? "group" : "user", of_group ? info.st_gid : info.st_uid),
            {}};
    }
    return Answer{
        path + ": an access list or the server does not let user nobody read it: give users access",
        {}};
}

// Opens the source as user nobody, because root must not follow a link that a user may have made.
sys::Result<Answer> open_as_nobody(const job::Mount& mount, const job::SitePolicy& policy) {
    if (!can_read(mount.source)) return explain(mount.source, errno);
    return open_sources({mount}, policy);
}

sys::Result<void> enter_new_namespace() {
    if (unshare(CLONE_NEWNS) != 0) return sys::errno_error("unshare");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return sys::errno_error("making the mounts private");
    return {};
}

// Tries the mount root in a process of its own, which may hang.
sys::Result<Answer> make_root(const job::SitePolicy& policy, const Credentials& user) {
    if (auto entered = enter_new_namespace(); !entered) return entered.error();
    if (auto made = make_mounts({}, {}, policy, user, nullptr); !made) return made.error();
    return Answer{};
}

// Tries a mount in a process of its own, which may hang.
sys::Result<Answer> make(const job::Mount& mount, const job::SitePolicy& policy,
                         const Credentials& user) {
    if (auto entered = enter_new_namespace(); !entered) return entered.error();
    Sources sources;
    if (mount.kind().is_local()) {
        auto answer = as_user(user, kSeconds, [&] { return open_as_nobody(mount, policy); });
        if (!answer || answer->files.empty()) return answer;
        auto opened = sources_of(*std::move(answer));
        if (!opened) return opened.error();
        sources = *std::move(opened);
    }
    if (auto made = make_mounts({mount}, sources, policy, user, nullptr); !made)
        return made.error();
    if (!mount.kind().is_remote) return Answer{};
    return as_user(user, kSeconds, [&]() -> sys::Result<Answer> {
        const std::string top = policy.mount_root + "/" + mount.target;
        return can_read(top) ? sys::Result<Answer>(Answer{}) : explain(top, errno);
    });
}

// Makes a temporary directory as setup does for a job.
sys::Result<Answer> make_temporary_directory(const std::string& below) {
    std::string path = below + "/batchai-trial-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return sys::errno_error("as nobody");
    if (rmdir(path.c_str()) != 0) return sys::errno_error(path);
    return Answer{};
}

// Prints the result of a trial. False: it failed.
bool say(const std::string& what, const sys::Result<Answer>& done) {
    const std::string why = done ? done->text : done.error().message;
    std::printf("%s %s\n",
                !done         ? "failed"
                : why.empty() ? "ok"
                              : "warning",
                sys::printable(why.empty() ? what : what + ": " + why).c_str());
    return done.has_value();
}

}  // namespace

int try_policy(const std::string& policy_file) {
    const auto policy = load_trusted_policy(policy_file);
    if (!policy) {
        std::fprintf(stderr, "batchai-helper: %s\n",
                     sys::printable(policy.error().message).c_str());
        return kFailure;
    }
    const Credentials user = geteuid() == 0 ? kNobody : Credentials{geteuid(), getegid(), {}};
    const auto job_temp =
        as_user(user, kSeconds, [&] { return make_temporary_directory(policy->job_temp); });
    bool good = say("job temp " + policy->job_temp, job_temp);
    // Without it no mount can be made.
    if (!say("mount root " + policy->mount_root,
             as_root(kSeconds, [&] { return make_root(*policy, user); })))
        return kFailure;
    for (const Trial& trial : trials_of(*policy)) {
        sys::Result<Answer> cannot = Answer{trial.cannot, {}};
        if (trial.mount.kind().source == job::SourceForm::image)
            cannot = as_user(user, kSeconds, [&] { return why_no_image(trial.mount.source); });
        if (!cannot)
            good &= say(trial.what, cannot);
        else if (cannot->text.empty())
            good &= say(trial.what,
                        as_root(3 * kSeconds, [&] { return make(trial.mount, *policy, user); }));
        else
            std::printf("skipped %s: %s\n", sys::printable(trial.what).c_str(),
                        cannot->text.c_str());
    }
    return good ? kSucceeded : kFailure;
}

}  // namespace batchai::spank
