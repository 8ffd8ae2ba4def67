// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace batchai::launcher {
namespace {

// The size of the text up to and including its last such character; 0: it has none. string_view's
// rfind() is slow: it compares byte by byte.
std::size_t size_up_to_last(char character, std::string_view text) {
    const void* last = ::memrchr(text.data(), character, text.size());
    return last == nullptr
               ? 0
               : static_cast<std::size_t>(static_cast<const char*>(last) - text.data()) + 1;
}

}  // namespace

std::string LineBuffer::add(std::string_view bytes) {
    if (bytes.empty()) return {};
    // New bytes can end a pending line only at its last byte: a '\r' that no '\n' follows. So a
    // '\r' at the very end waits for the next bytes.
    const std::size_t known = pending_.empty() ? 0 : pending_.size() - 1;
    pending_.append(bytes);
    const std::string_view fresh = std::string_view(pending_).substr(known);
    const std::size_t newline = size_up_to_last('\n', fresh);
    const std::size_t carriage = size_up_to_last('\r', fresh.substr(0, fresh.size() - 1));
    const std::size_t size = std::max(newline, carriage);
    if (size == 0) return {};
    std::string lines = pending_.substr(0, known + size);
    pending_.erase(0, known + size);
    return lines;
}

std::string last_line_of(std::string_view text) {
    constexpr std::size_t kSeen = 4096, kKept = 256;
    text.remove_prefix(text.size() - std::min(text.size(), kSeen));
    text = text.substr(0, text.find_last_not_of("\r\n") + 1);
    text.remove_prefix(std::max(size_up_to_last('\n', text), size_up_to_last('\r', text)));
    return std::string(text.substr(0, kKept));
}

void Tail::add(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto end = bytes.find('\n');
        partial_.append(bytes.substr(0, end).substr(0, kLongest));
        if (partial_.size() > kLongest) partial_.resize(kLongest);
        if (end == std::string_view::npos) return;
        push(partial_);
        partial_.clear();
        bytes.remove_prefix(end + 1);
    }
}

void Tail::push(std::string_view line) {
    lines_.emplace_back(line);
    if (lines_.size() > limit_) lines_.pop_front();
    follow_traceback(line);
}

// A traceback ends with its first line that is not indented: the exception.
void Tail::follow_traceback(std::string_view line) {
    ++after_traceback_;
    if (line.starts_with("Traceback (most recent call last)")) {
        traceback_.clear();
        in_traceback_ = true;
    }
    if (!in_traceback_) return;
    traceback_.emplace_back(line);
    if (traceback_.size() > kTraceback) traceback_.erase(traceback_.begin() + 1);
    in_traceback_ = traceback_.size() == 1 || line.starts_with(' ');
    after_traceback_ = 0;
}

std::vector<std::string> Tail::lines() const {
    std::vector<std::string> lines(lines_.begin(), lines_.end());
    if (!partial_.empty()) lines.push_back(partial_);
    if (lines.size() > limit_) lines.erase(lines.begin());
    const bool whole = traceback_.size() + after_traceback_ <= lines.size();
    if (traceback_.empty() || whole) return lines;
    const std::size_t after = after_traceback_ + (partial_.empty() ? 0 : 1);
    std::vector<std::string> all = traceback_;
    if (after > lines.size()) all.emplace_back("...");
    all.insert(all.end(), lines.end() - static_cast<long>(std::min(after, lines.size())),
               lines.end());
    return all;
}

void LibraryErrors::add(std::string_view lines) {
    constexpr std::array<std::string_view, 5> kSigns = {"NCCL WARN", "NCCL error", "UCX  ERROR",
                                                        "CUDA error", "CUDA out of memory"};
    for (std::string_view sign : kSigns) {
        for (auto at = lines.find(sign); at != lines.npos && lines_.size() < kLines;) {
            const auto begin = lines.rfind('\n', at) + 1;  // npos + 1 is 0
            const auto end = lines.find('\n', at);
            const std::string line(lines.substr(begin, std::min(end - begin, kLongest)));
            if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) {
                lines_.push_back(line);
            }
            at = end == lines.npos ? end : lines.find(sign, end);
        }
    }
}

}  // namespace batchai::launcher
