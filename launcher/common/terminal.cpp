// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/terminal.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace batchai::launcher {
namespace {

// ECMA-48's foreground colours except red, black and white.
constexpr std::array kRankColours{36, 32, 33, 35, 34, 96, 92, 93, 95, 94};
constexpr std::string_view kEraseLine = "\r\033[K";

}  // namespace

bool is_terminal(int fd) {
    const char* kind = std::getenv("TERM");
    return ::isatty(fd) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool has_colours(int fd) {
    const char* none = std::getenv("NO_COLOR");
    return is_terminal(fd) && (none == nullptr || *none == '\0');
}

std::string file_of(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    std::error_code unknown;
    return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), unknown);
}

bool is_same_file(int one, int other) {
    struct stat first {
    }, second{};
    return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::string in_colour_of(int rank, std::string_view text) {
    const int colour = kRankColours[static_cast<std::size_t>(rank) % kRankColours.size()];
    return fmt::format("\033[{}m{}\033[0m", colour, text);
}

std::string in_red(std::string_view text) {
    return fmt::format("\033[1;31m{}\033[0m", text);
}

void StatusLine::show(const std::string& text) {
    if (!able_ || text == shown_) return;
    shown_ = text;
    std::fputs(fmt::format("{}batchai-launch: {}", kEraseLine, text).c_str(), stderr);
}

void StatusLine::clear() {
    if (shown_.empty()) return;
    shown_.clear();
    std::fputs(std::string(kEraseLine).c_str(), stderr);
}

}  // namespace batchai::launcher
