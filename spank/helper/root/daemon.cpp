// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/fuse.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "job/layout.hpp"
#include "spank/helper/fuse_protocol.hpp"
#include "spank/helper/root/cgroup.hpp"
#include "spank/helper/root/child.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "sys/c_strings.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"

namespace batchai::spank {
namespace {

constexpr char kHome[] = "/home";  // below our own directory in the small tmpfs
constexpr char kFuseDevice[] = "/dev/fuse";
constexpr char kSearchPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Does nothing if the target is the source already: /bin may be /usr/bin.
sys::Result<void> bind_over(const std::string& source, const std::string& target) {
    struct stat wanted = {};
    struct stat found = {};
    if (stat(source.c_str(), &wanted) != 0) return sys::errno_error(source);
    if (stat(target.c_str(), &found) == 0 && found.st_dev == wanted.st_dev &&
        found.st_ino == wanted.st_ino)
        return {};
    if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0)
        return sys::errno_error(target);
    return {};
}

// If only root may open /dev/fuse (0600), makes a copy that all may open: opening it gives no
// access to a mount.
sys::Result<void> open_device_to_all(const std::string& directory) {
    struct stat info = {};
    if (stat(kFuseDevice, &info) != 0) return sys::errno_error(kFuseDevice);
    if ((info.st_mode & 0006) == 0006) return {};
    const std::string copy = directory + "/device";
    if (mknod(copy.c_str(), S_IFCHR, info.st_rdev) != 0 || chmod(copy.c_str(), 0666) != 0)
        return sys::errno_error(copy);
    return bind_over(copy, kFuseDevice);
}

// Offers batchai-fusermount under two names: first in PATH, and in place of the full path that
// libfuse starts.
sys::Result<void> offer_fusermount(const std::string& program, const std::string& directory) {
    for (const char* name : {"fusermount", "fusermount3"}) {
        const std::string link = directory + "/" + name;
        if (symlink(program.c_str(), link.c_str()) != 0) return sys::errno_error(link);
        for (const char* where : {"/usr/bin/", "/bin/"}) {
            const std::string path = std::string(where) + name;
            if (access(path.c_str(), F_OK) != 0) continue;
            if (auto bound = bind_over(program, path); !bound) return bound;
        }
    }
    return {};
}

// Prepares the program's new mount namespace. Our directory in the small tmpfs has a name that no
// target has.
sys::Result<void> furnish(const DaemonProgram& program, const std::string& own) {
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        return sys::errno_error("making the mounts of the program private");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        return sys::errno_error("/proc");
    // A namespace of Slurm has the job's mounts already, among them this one.
    while (umount2(program.mount_root.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
    }
    if (mount("batchai", program.mount_root.c_str(), "tmpfs", MS_NOSUID,
              "mode=0755,size=4m,nr_inodes=1024") != 0)
        return sys::errno_error(program.mount_root);
    if (mkdir(own.c_str(), 0755) != 0) return sys::errno_error(own);
    if (auto opened = open_device_to_all(own); !opened) return opened;
    if (auto offered = offer_fusermount(program.fusermount, own); !offered) return offered;
    for (const auto& path : {program.target, own + kHome}) {
        if (auto made = sys::make_directories(path); !made) return made;
        if (chown(path.c_str(), program.user.uid, program.user.gid) != 0)
            return sys::errno_error(path);
    }
    return {};
}

sys::Result<void> take_users_rights(const Credentials& user, gid_t own) {
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
            return sys::errno_error("PR_CAPBSET_DROP");
    if (getuid() != user.uid || geteuid() != user.uid) {
        std::vector<gid_t> groups = user.groups;
        if (std::ranges::find(groups, user.gid) == groups.end()) groups.push_back(user.gid);
        if (setgroups(groups.size(), groups.data()) != 0) return sys::errno_error("setgroups");
        if (setresgid(own, own, own) != 0) return sys::errno_error(fmt::format("group {}", own));
        if (setresuid(user.uid, user.uid, user.uid) != 0)
            return sys::errno_error(fmt::format("user {}", user.uid));
    }
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) return sys::errno_error("capset");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return sys::errno_error("PR_SET_NO_NEW_PRIVS");
    return {};
}

// Closes every descriptor except those that the program gets.
sys::Result<void> keep_descriptors(const DaemonProgram& program) {
    const sys::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null) return sys::errno_error("/dev/null");
    const struct {
        int from;
        int to;
    } kept[] = {{null.get(), 0},
                {program.log, 1},
                {program.log, 2},
                {program.device, kFuseDescriptor},
                {program.credentials, kCredentialsDescriptor}};
    int copies[std::size(kept)];
    // Copy the descriptors first: one of them may have a number that another one needs.
    for (std::size_t i = 0; i < std::size(kept); ++i)
        copies[i] = kept[i].from < 0 ? -1 : fcntl(kept[i].from, F_DUPFD_CLOEXEC, 200);
    for (std::size_t i = 0; i < std::size(kept); ++i)
        if (copies[i] >= 0 && dup2(copies[i], kept[i].to) < 0) return sys::errno_error("dup2");
    close_range(3, kFuseDescriptor - 1, 0);
    close_range(kFuseDescriptor + (program.credentials < 0 ? 1 : 2), ~0U, 0);
    return {};
}

void reset_process() {
    setsid();
    umask(022);
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // 1 byte: with 0, the kernel still pipes a dump to a program in core_pattern.
    const rlimit no_core = {1, 1};
    setrlimit(RLIMIT_CORE, &no_core);
    (void)chdir("/");
}

std::vector<std::string> environment(const DaemonProgram& program, const std::string& own) {
    std::vector<std::string> variables = {"PATH=" + own + ":" + kSearchPath, "HOME=" + own + kHome,
                                          "TMPDIR=" + program.cache,
                                          "XDG_CACHE_HOME=" + program.cache, "LANG=C.UTF-8"};
    if (const passwd* entry = getpwuid(program.user.uid)) {
        variables.push_back(std::string("USER=") + entry->pw_name);
        variables.push_back(std::string("LOGNAME=") + entry->pw_name);
    }
    return variables;
}

// Runs as process 1 of the PID namespace. number: its process number outside.
sys::Error become(const DaemonProgram& program, pid_t number) {
    const std::string own = program.mount_root + "/" + job::kDaemonDirectory;
    const sys::CStrings command(program.command), variables(environment(program, own));
    reset_process();
    if (auto furnished = furnish(program, own); !furnished) return furnished.error();
    const gid_t group = program.of_store ? own_group(number) : program.user.gid;
    if (auto taken = take_users_rights(program.user, group); !taken) return taken.error();
    if (auto kept = keep_descriptors(program); !kept) return kept.error();
    execve(program.command.front().c_str(), command.get(), variables.get());
    return sys::errno_error(program.command.front());
}

// Waits for our number on the host. The parent sends it after the job's notes have it. If the
// parent dies first, this process ends.
[[noreturn]] void serve(int socket, const DaemonProgram& program) {
    pid_t number = -1;
    if (read(socket, &number, sizeof number) != sizeof number) _exit(1);
    dup2(program.log, STDERR_FILENO);
    const sys::Error failure = become(program, number);
    (void)sys::write_all(STDERR_FILENO, "batchai-helper: " + failure.message + "\n");
    _exit(1);
}

struct Started {
    pid_t pid = -1;
    int error = 0;
};

// Runs in a child. After its end, init is the daemon's parent.
[[noreturn]] void start_in_new_namespaces(int socket, const DaemonProgram& program) {
    // The daemon must not inherit our descriptors, such as the lock of the job's directory.
    close_all_but({socket, program.host, program.device, program.credentials, program.log});
    Started started;
    if (setns(program.host, CLONE_NEWNS) == 0 && unshare(CLONE_NEWNS | CLONE_NEWPID) == 0)
        started.pid = fork();
    if (started.pid == 0) serve(socket, program);
    started.error = errno;
    (void)send(socket, &started, sizeof started, MSG_NOSIGNAL);
    _exit(0);
}

}  // namespace

sys::Result<void> start_daemon(const DaemonProgram& program, const JobDirectory& directory) {
    const auto cgroups = find_daemon_cgroups();
    if (!cgroups) return cgroups.error();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return sys::errno_error("socketpair");
    sys::UniqueFd ours(pair[0]);
    sys::UniqueFd theirs(pair[1]);
    const pid_t child = fork();
    if (child < 0) return sys::errno_error("fork");
    if (child == 0) start_in_new_namespaces(theirs.get(), program);
    theirs.reset();
    waitpid(child, nullptr, 0);
    Started started;
    if (read(ours.get(), &started, sizeof started) != sizeof started)
        return sys::Error{"the program's process died"};
    if (started.pid < 0) return sys::errno_error("namespaces of the program", started.error);
    if (auto noted = note_daemon(directory, started.pid); !noted) return noted;
    for (const auto& cgroup : *cgroups) {
        if (auto noted = note_cgroup(directory, cgroup); !noted) return noted;
        if (auto entered = enter_cgroup(cgroup, started.pid); !entered) return entered;
    }
    if (send(ours.get(), &started.pid, sizeof started.pid, MSG_NOSIGNAL) != sizeof started.pid)
        return sys::errno_error("the program's process");
    return {};
}

}  // namespace batchai::spank
