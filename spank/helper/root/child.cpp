// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/child.hpp"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "spank/helper/root/cgroup.hpp"
#include "spank/linux_calls.hpp"
#include "spank/protocol.hpp"
#include "sys/mount_table.hpp"

namespace batchai::spank {
namespace {

using Clock = std::chrono::steady_clock;

// In milliseconds. To move a process into another cgroup takes the kernel 10 to 20, so a child that
// no user can delay moves only if it takes longer than this.
constexpr std::chrono::milliseconds kQuick{100};
constexpr std::chrono::milliseconds kEnd{500};  // for a process to end after SIGKILL

bool become(const Credentials& user) {
    if (user.maps) {
        // The real and saved uids are not the user's. The effective uid stays 0 at first, so that
        // the namespace belongs to root and not to the user.
        if (setresuid(kNobodyId, -1, kNobodyId) != 0 || !enter_user_namespace(*user.maps) ||
            setgroups(0, nullptr) != 0 || setresgid(0, 0, 0) != 0 || setresuid(-1, 0, -1) != 0)
            return false;
    } else if (geteuid() != user.uid || getuid() != user.uid) {
        const uid_t real = user.out_of_reach ? kNobodyId : user.uid;
        if (setgroups(user.groups.size(), user.groups.data()) != 0 ||
            setresgid(user.gid, user.gid, user.gid) != 0 || setresuid(real, user.uid, real) != 0)
            return false;
        if (user.uid != 0 && setuid(0) == 0) return false;
    }
    const rlimit no_core = {1, 1};  // bytes; 0 does not stop a program in core_pattern
    setrlimit(RLIMIT_CORE, &no_core);
    umask(022);
    // Set both after the change of user, which clears the first and sets the second to
    // fs.suid_dumpable. This process has a copy of root's memory.
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// An answer is one stream: 'V', the text, and the files on the first byte; or 'E' and the error.
void send_answer(int socket, char kind, const std::string& text,
                 const std::vector<sys::UniqueFd>& files) {
    std::vector<int> descriptors;
    for (const sys::UniqueFd& file : files) descriptors.push_back(file.get());
    if (!sys::send_files(socket, kind, descriptors)) return;
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t n = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return;
        sent += static_cast<std::size_t>(n);
    }
}

// Slurm waits for all processes in a job's cgroup, and drains the node if one does not end. Without
// the right to leave, the child stays.
void leave_cgroups_of_job(pid_t child) {
    const auto cgroups = find_helper_cgroups();
    if (!cgroups) return;
    for (const auto& cgroup : *cgroups) (void)enter_cgroup(cgroup, child);
}

// True if a user serves files on this node.
bool is_served_by_users() {
    const auto table = sys::MountTable::read();
    return !table || table->has(sys::Server::user);
}

[[noreturn]] void serve(int socket, const Credentials& user, pid_t parent,
                        const std::function<sys::Result<Answer>()>& work, std::vector<int> kept) {
    kept.push_back(socket);
    close_all_but(std::move(kept));
    if (is_served_by_users()) leave_cgroups_of_job(getpid());
    if (!become(user) || getppid() != parent) {
        send_answer(socket, 'E', "cannot change to the job's user", {});
        _exit(1);
    }
    auto answer = work();
    if (!answer)
        send_answer(socket, 'E', answer.error().message, {});
    else if (answer->files.size() > kMaximumFiles || answer->text.size() > kStateMaximum)
        send_answer(socket, 'E', "the job has too many mount sources, or more than 1 MiB of text",
                    {});
    else
        send_answer(socket, 'V', answer->text, answer->files);
    _exit(0);
}

// False: nothing to read by the deadline.
bool wait_for_input(int fd, Clock::time_point deadline) {
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd event = {fd, POLLIN, 0};
        const int ready = left.count() <= 0 ? 0 : poll(&event, 1, static_cast<int>(left.count()));
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

// The whole stream, first byte included. A child that waits for something is moved away.
sys::Result<Answer> receive(int socket, int seconds, pid_t child) {
    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    Answer answer;
    if (!wait_for_input(socket, std::min(deadline, Clock::now() + kQuick)))
        leave_cgroups_of_job(child);
    for (;;) {
        if (!wait_for_input(socket, deadline))
            return sys::Error{"no answer within " + std::to_string(seconds) + " seconds"};
        char buffer[16384];
        const ssize_t n = sys::receive_files(socket, buffer, sizeof buffer, answer.files);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return answer;
        answer.text.append(buffer, static_cast<std::size_t>(n));
        if (answer.text.size() > kStateMaximum + 1) return sys::Error{"the answer is too long"};
    }
}

// Kills the child and reaps it. One that is stuck in a file system is left to init.
void end(pid_t child) {
    const sys::UniqueFd process(pidfd_open(child, 0));
    kill(child, SIGKILL);
    if (process && wait_for_input(process.get(), Clock::now() + kEnd))
        waitpid(child, nullptr, WNOHANG);
}

}  // namespace

void close_all_but(std::vector<int> kept) {
    std::ranges::sort(kept);
    unsigned next = 3;
    for (const int fd : kept) {
        if (fd < static_cast<int>(next)) continue;
        if (fd > static_cast<int>(next)) close_range(next, static_cast<unsigned>(fd) - 1, 0);
        next = static_cast<unsigned>(fd) + 1;
    }
    close_range(next, ~0U, 0);
}

sys::Result<Answer> as_user(const Credentials& user, int seconds,
                            const std::function<sys::Result<Answer>()>& work,
                            const std::string& what, const std::vector<int>& kept) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return sys::errno_error("socketpair");
    sys::UniqueFd ours(pair[0]);
    sys::UniqueFd theirs(pair[1]);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return sys::errno_error("fork");
    if (child == 0) serve(theirs.get(), user, parent, work, kept);
    theirs.reset();

    auto answer = receive(ours.get(), seconds, child);
    end(child);  // it has answered, or it is too late
    if (!answer) return what.empty() ? answer.error() : answer.error().in(what);
    if (answer->text.empty()) return sys::Error{"the process with the user's rights died"};
    const char kind = answer->text.front();
    answer->text.erase(0, 1);
    if (kind != 'V') return sys::Error{answer->text};
    return answer;
}

sys::Result<Answer> as_root(int seconds, const std::function<sys::Result<Answer>()>& work,
                            const std::string& what, const std::vector<int>& kept) {
    return as_user({geteuid(), getegid(), {}}, seconds, work, what, kept);
}

}  // namespace batchai::spank
