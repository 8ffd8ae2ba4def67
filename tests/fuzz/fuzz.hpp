// SPDX-License-Identifier: Apache-2.0
//
// What every fuzz target shares: its input as text, a site to hold it against, and `must`, which
// stops the run where a promise of the code under test is broken. (That it neither crashes nor
// reads what is not its own, the sanitizers see.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "job/policy.hpp"

namespace fuzz {

inline void must(bool kept, const char* promise, const std::string& where) {
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s: [%s]\n", promise, where.c_str());
    std::abort();
}

// A message is one line that cannot play with a terminal or imitate another line.
inline void must_be_one_line(const std::string& message) {
    bool plain = !message.empty();
    for (const unsigned char c : message) plain = plain && c >= 0x20 && c != 0x7f;
    must(plain, "a message is one printable line", message);
}

inline void must_be_lines(const std::vector<batchai::job::Finding>& findings) {
    for (const auto& finding : findings) must_be_one_line(finding.text());
}

// A target below the mount root: what parse_mounts promises, and root's helper builds on.
inline void must_stay_below(const std::string& target) {
    must(!target.empty() && target.front() != '/', "a target is relative", target);
    for (std::size_t at = 0; at <= target.size();) {
        const std::size_t end = std::min(target.find('/', at), target.size());
        const auto part = std::string_view(target).substr(at, end - at);
        must(!part.empty() && part != "." && part != "..", "a target goes down only", target);
        at = end + 1;
    }
}

// The site of the walk-through, with one mount of each type allowed.
const batchai::job::SitePolicy& site();

}  // namespace fuzz
