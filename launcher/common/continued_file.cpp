// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/continued_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/common/say.hpp"
#include "launcher/common/terminal.hpp"
#include "sys/user_path.hpp"

namespace batchai::launcher {
namespace {

// Whether the file's last line has no newline. True as well if the file cannot be read.
bool ends_within_line(int file, off_t size) {
    const sys::UniqueFd fd(
        ::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    char last = 0;
    return ::pread(fd.get(), &last, 1, size - 1) != 1 || last != '\n';
}

}  // namespace

sys::Result<sys::UniqueFd> continue_file(const std::string& path, const std::string& line) {
    auto fd = sys::open_user_file(path, O_WRONLY | O_CREAT | O_APPEND, 0644, sys::FileKind::output);
    if (!fd) return fd;
    struct stat status {};
    if (line.empty() || ::fstat(fd->get(), &status) != 0 || status.st_size == 0) return fd;
    const std::string text =
        (ends_within_line(fd->get(), status.st_size) ? "\n" : "") + line + "\n";
    // The first output meets the same error, and the sink then keeps that output elsewhere.
    (void)!::write(fd->get(), text.data(), text.size());
    return fd;
}

std::string line_of_requeued(const Allocation& allocation) {
    if (allocation.restarts == 0) return {};
    return fmt::format("batchai-launch: job {} runs again (requeue {}): its output goes on here",
                       allocation.job.whole_text(), allocation.restarts);
}

void warn_of_truncation() {
    std::string last;
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        const std::string path = file_of(fd);
        const int flags = ::fcntl(fd, F_GETFL);
        if (path.empty() || path == last || flags < 0 || (flags & O_APPEND) != 0) continue;
        last = path;
        say(path +
            " is not open for appending: its contents are lost when Slurm runs the job again. "
            "Write \">>\" in the job's script.");
    }
}

}  // namespace batchai::launcher
