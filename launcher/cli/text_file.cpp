// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "sys/unique_fd.hpp"

namespace batchai::cli {

sys::Result<std::string> read_text(const std::string& path) {
    const sys::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return sys::errno_error(path);
    std::string text;
    std::array<char, 65536> block{};
    for (;;) {
        const ssize_t n = ::read(file.get(), block.data(), block.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error(path);
        if (n == 0) return text;
        text.append(block.data(), static_cast<std::size_t>(n));
    }
}

sys::Result<void> replace_text(const std::string& path, const std::string& text) {
    const std::string temporary = fmt::format("{}.{}", path, ::getpid());
    const sys::UniqueFd file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return sys::errno_error(temporary);
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        std::rename(temporary.c_str(), path.c_str()) != 0) {
        const auto error = sys::errno_error(path);
        ::unlink(temporary.c_str());
        return error;
    }
    return {};
}

}  // namespace batchai::cli
