// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/daemon_notes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <vector>

#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/cgroup.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/linux_calls.hpp"
#include "spank/protocol.hpp"

namespace batchai::spank {
namespace {

using Clock = std::chrono::steady_clock;

// Time limit for a program to end after SIGTERM, and for the kernel to end it after SIGKILL.
constexpr int kLastSeconds = 3;

std::string boot_name() {
    std::string name = read_or_empty(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
    while (name.ends_with('\n')) name.pop_back();
    return name;
}

sys::Result<void> note(const JobDirectory& directory, const char* name, const std::string& value) {
    Fields entry;
    entry.add(name, value);
    return directory.append(kDaemonsFile, entry);
}

// A descriptor of the process, if the number still belongs to it.
sys::UniqueFd open_process(const ProcessIdentity& wanted) {
    sys::UniqueFd process(pidfd_open(wanted.pid, 0));
    if (!process) return process;
    if (!is_alive(wanted)) process.reset();
    return process;
}

Clock::time_point after(int seconds) {
    return Clock::now() + std::chrono::seconds(seconds);
}

// True if all have ended within the time.
bool wait_for_end(const std::vector<sys::UniqueFd>& processes, Clock::time_point deadline) {
    for (const auto& process : processes) {
        pollfd event = {process.get(), POLLIN, 0};
        for (;;) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
            const int ready = poll(&event, 1, static_cast<int>(std::max<long>(left, 0)));
            if (ready > 0) break;
            if (ready == 0 || errno != EINTR) return false;
        }
    }
    return true;
}

void send_signal(const std::vector<sys::UniqueFd>& processes, int number) {
    for (const auto& process : processes) pidfd_send_signal(process.get(), number, nullptr, 0);
}

// Unmounts, and waits until the daemons have written their data. A busy mount is detached.
[[noreturn]] void unmount(int space, const std::vector<std::string>& mounts) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setns(space, CLONE_NEWNS) != 0) _exit(1);
    close_range(3, ~0U, 0);  // the parent may leave us behind: keep none of its locks
    for (auto path = mounts.rbegin(); path != mounts.rend(); ++path)
        if (umount2(path->c_str(), UMOUNT_NOFOLLOW) != 0 && errno == EBUSY)
            umount2(path->c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    _exit(0);
}

// Runs in a process of its own in the job's namespace, because it may hang there.
class Unmounting {
  public:
    Unmounting(const JobDirectory& directory, const std::vector<std::string>& mounts) {
        const sys::UniqueFd space(
            open(directory.path(kPinFile).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        child_ = space ? fork() : -1;
        if (child_ == 0) unmount(space.get(), mounts);
        if (child_ > 0) process_.emplace_back(pidfd_open(child_, 0));
    }
    ~Unmounting() {
        if (child_ <= 0) return;
        kill(child_, SIGKILL);
        wait_for_end(process_, after(kLastSeconds));
        waitpid(child_, nullptr, WNOHANG);
    }
    Unmounting(const Unmounting&) = delete;
    Unmounting& operator=(const Unmounting&) = delete;

  private:
    pid_t child_ = -1;
    std::vector<sys::UniqueFd> process_;
};

}  // namespace

std::string to_text(const ProcessIdentity& process) {
    return std::to_string(process.pid) + " " + process.start + " " + process.boot;
}

std::optional<ProcessIdentity> identity_from_text(const std::string& text) {
    const auto parts = split_nonempty(text, ' ');
    ProcessIdentity process;
    if (parts.size() != 3) return std::nullopt;
    const char* end = parts[0].data() + parts[0].size();
    const auto [last, error] = std::from_chars(parts[0].data(), end, process.pid);
    if (error != std::errc() || last != end || process.pid <= 1) return std::nullopt;
    process.start = parts[1];
    process.boot = parts[2];
    return process;
}

std::string start_time(std::string_view stat) {
    // The second field, the name in brackets, can have any character.
    const auto name_end = stat.rfind(')');
    if (name_end == stat.npos) return {};
    const auto fields = split_nonempty(stat.substr(name_end + 1), ' ');
    constexpr std::size_t kStart = 22 - 3;  // proc(5) counts from 1, and this is the third on
    return fields.size() > kStart ? fields[kStart] : std::string();
}

sys::Result<ProcessIdentity> identify(pid_t pid) {
    ProcessIdentity process;
    process.pid = pid;
    process.start = start_time(read_or_empty(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat"));
    process.boot = boot_name();
    if (process.start.empty() || process.boot.empty())
        return sys::Error{"process " + std::to_string(pid) + ": cannot be identified in /proc"};
    return process;
}

bool is_alive(const ProcessIdentity& wanted) {
    const auto found = identify(wanted.pid);
    return found && found->start == wanted.start && found->boot == wanted.boot;
}

sys::Result<void> note_daemon(const JobDirectory& directory, pid_t pid) {
    const auto process = identify(pid);
    if (!process) return process.error();
    return note(directory, "daemon", to_text(*process));
}

sys::Result<void> note_cgroup(const JobDirectory& directory, const std::string& path) {
    return note(directory, "cgroup", path);
}

sys::Result<void> note_fuse_mount(const JobDirectory& directory, const std::string& path) {
    return note(directory, "mount", path);
}

void end_daemons(const JobDirectory& directory, int seconds) {
    const Fields notes = directory.read(kDaemonsFile);
    const auto mounts = notes.all("mount");
    if (mounts.empty()) return;  // a mount is noted before its daemon and cgroup
    std::vector<sys::UniqueFd> daemons;
    for (const auto& text : notes.all("daemon")) {
        const auto identity = identity_from_text(text);
        auto process = identity ? open_process(*identity) : sys::UniqueFd();
        if (process) daemons.push_back(std::move(process));
    }
    std::optional<Unmounting> unmounting;
    if (is_pinned(directory)) unmounting.emplace(directory, mounts);
    if (!wait_for_end(daemons, after(seconds))) send_signal(daemons, SIGTERM);
    if (!wait_for_end(daemons, after(kLastSeconds))) send_signal(daemons, SIGKILL);
    wait_for_end(daemons, after(kLastSeconds));
    unmounting.reset();
    for (const auto& path : notes.all("cgroup")) remove_cgroup(path);
}

}  // namespace batchai::spank
