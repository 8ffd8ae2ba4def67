// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output.hpp"

namespace batchai::launcher {

std::string LineBuffer::add(std::string_view bytes) {
    const std::size_t known = pending_.size();
    pending_.append(bytes);
    // A '\r' at the very end may be the first half of "\r\n".
    std::size_t end = pending_.rfind('\n');
    if (pending_.size() > 1) {
        const std::size_t carriage = pending_.rfind('\r', pending_.size() - 2);
        if (carriage != std::string::npos && carriage + 1 >= known &&
            (end == std::string::npos || carriage > end)) {
            end = carriage;
        }
    }
    if (end == std::string::npos) {
        if (pending_.size() < kLongest) return {};
        end = pending_.size() - 1;
    }
    std::string lines = pending_.substr(0, end + 1);
    pending_.erase(0, end + 1);
    return lines;
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
}

std::vector<std::string> Tail::lines() const {
    std::vector<std::string> lines(lines_.begin(), lines_.end());
    if (!partial_.empty()) lines.push_back(partial_);
    if (lines.size() > limit_) lines.erase(lines.begin());
    return lines;
}

}  // namespace batchai::launcher
