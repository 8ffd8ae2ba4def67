// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/namespace.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "spank/helper/files.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "spank/linux_calls.hpp"
#include "spank/protocol.hpp"

namespace batchai::spank {
namespace {

using Clock = std::chrono::steady_clock;

// Time limit for ending a job's processes: their user can make the tables of mounts long.
constexpr std::chrono::seconds kKilling{10};

bool is_mount_point(const char* path) {
    struct statx info = {};
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &info) == 0 &&
           (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

sys::Result<void> make_own_directory(const char* path, mode_t mode) {
    struct stat info = {};
    if (mkdir(path, mode) != 0 && errno != EEXIST) return sys::errno_error(path);
    if (lstat(path, &info) != 0) return sys::errno_error(path);
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
        return sys::Error{std::string(path) + ": not a directory that only root can write to"};
    // The directory of an earlier version may have a wider mode.
    if ((info.st_mode & 0777) != mode && chmod(path, mode) != 0) return sys::errno_error(path);
    return {};
}

// A process that stays in the old namespace and, on request, pins its parent's new one: it reads a
// byte and answers with an errno.
class Pinner {
  public:
    explicit Pinner(const std::string& pin) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
        ours_.reset(pair[0]);
        const sys::UniqueFd theirs(pair[1]);
        const pid_t parent = getpid();
        child_ = fork();
        if (child_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            ours_.reset();
            const std::string source = "/proc/" + std::to_string(parent) + "/ns/mnt";
            for (char byte; read(theirs.get(), &byte, 1) == 1;) {
                const int code =
                    mount(source.c_str(), pin.c_str(), nullptr, MS_BIND, nullptr) == 0 ? 0 : errno;
                if (write(theirs.get(), &code, sizeof code) != sizeof code) break;
            }
            _exit(0);
        }
    }
    ~Pinner() {
        ours_.reset();
        if (child_ > 0) waitpid(child_, nullptr, 0);
    }
    Pinner(const Pinner&) = delete;
    Pinner& operator=(const Pinner&) = delete;

    // 0 or an errno.
    int pin_parent() const {
        int code = EIO;
        if (child_ <= 0 || write(ours_.get(), "", 1) != 1) return EIO;
        return read(ours_.get(), &code, sizeof code) == sizeof code ? code : EIO;
    }

  private:
    sys::UniqueFd ours_;
    pid_t child_ = -1;
};

// Keeps this process on its CPU, until it is destroyed.
class OneCpu {
  public:
    OneCpu() {
        cpu_set_t one;
        CPU_ZERO(&one);
        if (const int cpu = sched_getcpu(); cpu >= 0) CPU_SET(cpu, &one);
        changed_ = sched_getaffinity(0, sizeof before_, &before_) == 0 &&
                   sched_setaffinity(0, sizeof one, &one) == 0;
    }
    ~OneCpu() {
        if (changed_) sched_setaffinity(0, sizeof before_, &before_);
    }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;

  private:
    cpu_set_t before_ = {};
    bool changed_ = false;
};

// Takes the rest of the numbers for namespaces that Linux has given this CPU. Its next ones are
// larger than any that exist. Takes 50 ms.
void use_up_numbers() {
    constexpr int kBatch = 4096;  // COOKIE_LOCAL_BATCH of Linux
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < kBatch && unshare(CLONE_NEWUTS) == 0; ++i) {
        }
        _exit(0);
    }
    if (child > 0) waitpid(child, nullptr, 0);
}

// The number of a namespace. 0: there is none, or its process has ended.
ino_t number_of(const std::string& space) {
    struct stat info = {};
    return stat(space.c_str(), &info) == 0 ? info.st_ino : 0;
}

// The user that made the outermost user namespace below ours to which a mount namespace belongs. 0:
// it belongs to ours.
uid_t maker_of(const sys::UniqueFd& space) {
    sys::UniqueFd users(ioctl(space.get(), NS_GET_USERNS));
    uid_t maker = 0;
    while (users) {
        sys::UniqueFd parent(ioctl(users.get(), NS_GET_PARENT));
        if (parent) ioctl(users.get(), NS_GET_OWNER_UID, &maker);
        users = std::move(parent);
    }
    return maker;
}

template <class F>
void for_each_number(const std::string& path, F f) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
    while (const dirent* entry = directory ? readdir(directory.get()) : nullptr)
        if (const int number = std::atoi(entry->d_name); number > 0) f(number);
}

// A process and its start time, because another one may have its number later.
using Killed = std::pair<int, std::string>;

std::string start_of(int process) {
    return start_time(read_or_empty(AT_FDCWD, "/proc/" + std::to_string(process) + "/stat"));
}

// One pass over all threads. Each thread may be in a namespace of its own, and the first thread of
// a process may have ended. Linux may give a free namespace number to the next new namespace. So a
// namespace is kept open by a descriptor while its number is used.
class Killing {
  public:
    // killed: the processes that earlier passes have killed.
    Killing(ino_t pinned, uid_t user, const std::string& source, Clock::time_point deadline,
            std::set<Killed>& killed)
        : pinned_(pinned), user_(user), source_(source), deadline_(deadline), killed_(killed) {}

    // killed: only such processes.
    enum class Found { none, killed, more, out_of_time };
    Found run() {
        for_each_number("/proc", [this](int process) {
            if (process == 1) return;
            const std::string tasks = "/proc/" + std::to_string(process) + "/task/";
            for_each_number(tasks,
                            [&](int thread) { look_at(process, tasks + std::to_string(thread)); });
        });
        return out_of_time_ ? Found::out_of_time : found_;
    }

  private:
    struct Space {
        sys::UniqueFd kept;
        bool has_mounts = false;
    };
    // Namespaces beyond this number are examined again for each thread.
    static constexpr std::size_t kMostKept = 512;

    void look_at(int process, const std::string& thread) {
        if (is_out_of_time()) return;
        const std::string path = thread + "/ns/mnt";
        sys::UniqueFd kept(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat info = {};
        if (!kept || fstat(kept.get(), &info) != 0) return;
        const ino_t number = info.st_ino;
        const auto known = spaces_.find(number);
        const bool has_mounts = known != spaces_.end() ? known->second.has_mounts
                                                       : has_mounts_of_job(kept, number, thread);
        if (has_mounts) {
            // Another process may have the number by now.
            const sys::UniqueFd same(pidfd_open(process, 0));
            if (same && number_of(path) == number)
                pidfd_send_signal(same.get(), SIGKILL, nullptr, 0);
            const bool is_new = killed_.insert({process, start_of(process)}).second;
            found_ = is_new || found_ == Found::more ? Found::more : Found::killed;
        }
        if (known == spaces_.end() && spaces_.size() < kMostKept && !out_of_time_)
            spaces_[number] = {std::move(kept), has_mounts};
    }

    bool is_out_of_time() {
        out_of_time_ = out_of_time_ || Clock::now() > deadline_;
        return out_of_time_;
    }

    bool shows_source(const std::string& mountinfo) {
        std::ifstream mounts(mountinfo);
        const std::string wanted = " - tmpfs " + source_ + " ";
        for (std::string line; !is_out_of_time() && std::getline(mounts, line);)
            if (line.find(wanted) != line.npos) return true;
        return false;
    }

    bool has_mounts_of_job(const sys::UniqueFd& space, ino_t number, const std::string& thread) {
        if (number == own_) return false;
        if (number == pinned_) return true;
        if (source_.empty()) return false;
        const uid_t maker = maker_of(space);
        // The table belongs to the namespace in which the thread is at the end of the read.
        return (maker == 0 || maker == user_) && shows_source(thread + "/mountinfo") &&
               number_of(thread + "/ns/mnt") == number;
    }

    ino_t pinned_;
    ino_t own_ = number_of("/proc/self/ns/mnt");
    uid_t user_;
    const std::string& source_;
    Clock::time_point deadline_;
    std::map<ino_t, Space> spaces_;  // by the namespace's number
    std::set<Killed>& killed_;
    Found found_ = Found::none;
    bool out_of_time_ = false;
};

}  // namespace

sys::Result<void> prepare_base() {
    if (auto made = make_own_directory(kBaseDirectory, 0711); !made) return made;
    // The file has one inode, under the mount and in it. A process that can open a file can lock
    // it, so only root may open it.
    const sys::UniqueFd lock(open(kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock || flock(lock.get(), LOCK_EX) != 0) return sys::errno_error(kLockFile);
    if (!is_mount_point(kBaseDirectory)) {
        if (mount(kBaseDirectory, kBaseDirectory, nullptr, MS_BIND, nullptr) != 0 ||
            mount(nullptr, kBaseDirectory, nullptr, MS_PRIVATE, nullptr) != 0)
            return sys::errno_error(std::string("mounting ") + kBaseDirectory + " on itself");
    }
    return make_own_directory(kJobsDirectory, 0700);
}

sys::Result<void> create_pinned_namespace(const JobDirectory& directory) {
    if (auto made = directory.touch(kPinFile); !made) return made;
    const Pinner pinner(directory.path(kPinFile));
    int code = 0;
    {
        const OneCpu one_cpu;
        for (const bool again : {false, true}) {
            if (again) use_up_numbers();
            if (unshare(CLONE_NEWNS) != 0) return sys::errno_error("unshare");
            code = pinner.pin_parent();
            if (code != EINVAL) break;
        }
    }
    if (code != 0) return sys::errno_error("pinning the mount namespace", code);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        return sys::errno_error("making the mounts of the job private");
    return {};
}

bool is_pinned(const JobDirectory& directory) {
    struct statfs info = {};
    return statfs(directory.path(kPinFile).c_str(), &info) == 0 && info.f_type == NSFS_MAGIC;
}

std::string root_mount_source(const std::string& job_temp) {
    return job_temp.substr(job_temp.rfind('/') + 1);
}

bool kill_processes(const JobDirectory& directory, uid_t user, const std::string& root_source) {
    const ino_t pinned = is_pinned(directory) ? number_of(directory.path(kPinFile)) : 0;
    if (pinned == 0 && root_source.empty()) return true;
    // Repeat until no process is left: one may have forked meanwhile. A killed process that waits
    // for a dead server never ends, so the number of rounds without another one is limited.
    const auto deadline = Clock::now() + kKilling;
    std::set<Killed> killed;
    for (int round = 0; round < 100; ++round) {
        const auto found = Killing(pinned, user, root_source, deadline, killed).run();
        if (found == Killing::Found::none) return true;
        if (found == Killing::Found::out_of_time) return false;
        if (found == Killing::Found::more) round = 0;
        usleep(10000);
    }
    return true;
}

void unpin(const JobDirectory& directory) {
    if (is_pinned(directory))
        umount2(directory.path(kPinFile).c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

}  // namespace batchai::spank
