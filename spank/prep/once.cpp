// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/once.hpp"

#include <sys/file.h>
#include <unistd.h>

namespace batchai::spank {
namespace {
constexpr std::string_view kFailed = "failed: ";
}

sys::Result<Once> Once::enter(int fd) {
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR) return sys::errno_error("--once");
    char buffer[4096];
    const ssize_t n = pread(fd, buffer, sizeof buffer, 0);
    if (n < 0) return sys::errno_error("--once");
    std::string text(buffer, static_cast<std::size_t>(n));
    if (text.empty()) return Once(fd, std::nullopt);
    if (text == "ok\n") return Once(fd, "");
    if (text.starts_with(kFailed)) text.erase(0, kFailed.size());
    return Once(fd, text.substr(0, text.find('\n')));
}

sys::Result<void> Once::succeeded() const {
    return write("ok\n");
}

sys::Result<void> Once::failed(const std::string& line) const {
    return write(std::string(kFailed) + line.substr(0, 4000) + "\n");
}

sys::Result<void> Once::write(const std::string& text) const {
    if (ftruncate(fd_, 0) != 0 ||
        pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return sys::errno_error("--once");
    return {};
}

}  // namespace batchai::spank
