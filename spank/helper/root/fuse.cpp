// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/fuse.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "job/expand.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/fuse_protocol.hpp"
#include "spank/helper/root/child.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "spank/helper/root/kernel_mount.hpp"
#include "spank/protocol.hpp"
#include "sys/file.hpp"
#include "sys/paths.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kLogTail = 4096;
constexpr std::size_t kWordsMaximum = 1000;

// The path uses process 1 of the program's PID namespace, not "self": ssh, a child of sshfs, closes
// its descriptors.
std::string credentials_path() {
    return fmt::format("/proc/1/fd/{}", kCredentialsDescriptor);
}

// A file in memory that the user's program can open again, by its path, but not write to.
sys::Result<sys::UniqueFd> make_credentials(const std::string& text, uid_t user) {
    sys::UniqueFd file(memfd_create("credentials", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file) return sys::errno_error("memfd_create");
    if (auto written = sys::write_all(file.get(), text); !written) return written.error();
    if (fchmod(file.get(), 0400) != 0 || fchown(file.get(), user, static_cast<gid_t>(-1)) != 0 ||
        fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return sys::errno_error("the file of the credentials");
    return file;
}

// Runs as the user. Root keeps the log open, and close(2) asks a file's server. A new file is on
// the mount of its directory.
sys::Result<Answer> make_files(int directory, const std::string& name) {
    const std::string cache = name + ".cache";
    if (mkdirat(directory, cache.c_str(), 0700) != 0) return sys::errno_error(cache);
    const std::string log = name + ".log";
    Answer answer;
    answer.files.emplace_back(openat(directory, log.c_str(),
                                     O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                                     0600));
    if (!answer.files.front()) return sys::errno_error(log);
    return answer;
}

// The user can read and change the log.
std::string end_of_log(int log) {
    const auto text = as_root(kLogSeconds,
                              [&]() -> sys::Result<Answer> {
                                  return Answer{sys::tail_of(log, kLogTail), {}};
                              },
                              "", {log});
    return text ? text->text : std::string();
}

std::vector<Parameter> parameters(const FuseMount& fuse, int device) {
    return {{"source", fuse.mount.source},
            {"subtype", fuse.program},
            {"fd", std::to_string(device)},
            {"rootmode", "40000"},
            {"user_id", std::to_string(fuse.user.uid)},
            {"group_id", std::to_string(fuse.user.gid)},
            {"default_permissions", "", true},
            // Slurm changes to a step's directory before it has all of the user's ids.
            {"allow_other", "", true}};
}

// Beside this program.
std::string fusermount_path() {
    const std::string self = sys::own_executable();
    return self.substr(0, self.rfind('/') + 1) + "batchai-fusermount";
}

// Waits for the program's first answer. After the program's end no process has /dev/fuse open, and
// the call fails. Some programs, such as rclone, ask their server only when they must: the name of
// a missing file makes every program ask.
sys::Result<void> wait_for_answer(const Credentials& user, const std::string& path, int seconds) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto deadline = now() + std::chrono::seconds(seconds);
    const auto answered = as_user(user, seconds, [&path]() -> sys::Result<Answer> {
        struct stat info = {};
        if (stat(path.c_str(), &info) != 0) return sys::errno_error(path);
        if (stat((path + "/.batchai").c_str(), &info) != 0 && errno != ENOENT && errno != EACCES)
            return sys::errno_error(path);
        return Answer{};
    });
    if (answered) return {};
    if (now() < deadline) return answered.error();
    return sys::Error{fmt::format("no answer within {} s", seconds)};
}

}  // namespace

std::string last_words(std::string_view log) {
    std::string last;
    std::string before;
    for (auto& line : split_nonempty(log, '\n')) {
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
            line.pop_back();
        if (!line.empty()) before = std::exchange(last, line);
    }
    const std::string words = before.empty() ? last : before + "; " + last;
    return sys::printable(words.substr(0, kWordsMaximum));
}

sys::Result<std::vector<std::string>> expand_command(const std::vector<std::string>& command,
                                                     const CommandValues& values) {
    if (values.source.starts_with('-'))
        return sys::Error{"'" + values.source + "': a source must not begin with '-'"};
    auto expanded = job::expand_placeholders(command, {{"{source}", values.source},
                                                       {"{target}", values.target},
                                                       {"{credentials}", values.credentials},
                                                       {"{cache}", values.cache},
                                                       {"{uid}", std::to_string(values.uid)},
                                                       {"{gid}", std::to_string(values.gid)}});
    if (!expanded)  // only the credentials can be missing
        return sys::Error{"site policy: the program needs credentials for '" + values.source + "'"};
    return expanded;
}

sys::Result<void> mount_fuse(const FuseMount& fuse, int target, int seconds, const FuseHost& host) {
    std::string name = fuse.mount.target;
    std::ranges::replace(name, '/', '+');  // a character that no target has
    name.insert(0, "mount-");
    DaemonProgram program;
    program.user = fuse.user;
    program.mount_root = fuse.mount_root;
    program.target = fuse.mount_root + "/" + fuse.mount.target;
    program.cache = host.job_temp + "/" + name + ".cache";
    program.of_store = fuse.of_store;
    program.host = host.host;
    const bool secret = !fuse.credentials.empty();
    auto command = expand_command(
        fuse.command, {fuse.mount.source, program.target, secret ? credentials_path() : "",
                       program.cache, fuse.user.uid, fuse.user.gid});
    if (!command) return command.error();
    program.command = *std::move(command);
    program.fusermount = fusermount_path();

    sys::UniqueFd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device) return sys::errno_error("/dev/fuse");
    program.device = device.get();
    auto credentials = secret ? make_credentials(fuse.credentials, fuse.user.uid)
                              : sys::Result<sys::UniqueFd>(sys::UniqueFd());
    if (!credentials) return credentials.error();
    program.credentials = credentials->get();
    const auto files = as_user(fuse.user, seconds, [&] { return make_files(host.temporary, name); },
                               "", {host.temporary});
    if (!files) return files.error();
    program.log = files->files.front().get();

    const auto mount = make_file_system("fuse", parameters(fuse, device.get()), fuse.mount);
    if (!mount) return mount.error();
    if (auto noted = note_fuse_mount(host.directory, program.target); !noted) return noted;
    if (auto attached = attach(mount->get(), target); !attached) return attached;
    if (auto started = start_daemon(program, host.directory); !started) return started;
    device.reset();  // otherwise the mount would outlive the program
    const auto answered = wait_for_answer(fuse.user, program.target, seconds);
    if (answered) return {};
    const std::string said = last_words(end_of_log(program.log));
    return said.empty() ? answered.error().in("the program printed no error message")
                        : sys::Error{said};
}

}  // namespace batchai::spank
