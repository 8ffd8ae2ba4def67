// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/say.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>

#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

constexpr std::chrono::milliseconds kSayPatience{1000};

}  // namespace

std::string said(const std::string& line) {
    return "batchai-launch: " + sys::printable_lines(line) + "\n";
}

// When poll(2) reports a pipe as writable, a write of PIPE_BUF bytes does not block.
std::size_t write_to_user(std::string_view text) {
    std::size_t done = 0;
    while (done < text.size()) {
        pollfd ready{STDERR_FILENO, POLLOUT, 0};
        const int count = ::poll(&ready, 1, static_cast<int>(kSayPatience.count()));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        const auto part = std::min<std::size_t>(text.size() - done, PIPE_BUF);
        const ssize_t written = ::write(STDERR_FILENO, text.data() + done, part);
        if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (written <= 0) break;
        done += static_cast<std::size_t>(written);
    }
    return done;
}

bool try_to_say(const std::string& line) {
    const std::string text = said(line);
    return write_to_user(text) == text.size();
}

void say(const std::string& line) {
    (void)try_to_say(line);
}

}  // namespace batchai::launcher
