// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/trusted_policy.hpp"

#include <sys/stat.h>

#include "sys/file.hpp"
#include "sys/trusted.hpp"

namespace batchai::spank {
namespace {
constexpr std::size_t kPolicyMaximum = 1024 * 1024;
}

sys::Result<std::string> read_trusted_policy(const std::string& file) {
    const auto opened = sys::open_trusted(file, {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY});
    if (!opened) return opened.error().in("site policy");
    struct stat info = {};
    if (fstat(opened->get(), &info) != 0) return sys::errno_error("site policy " + file);
    if (!S_ISREG(info.st_mode)) return sys::Error{"site policy " + file + ": not a regular file"};
    if ((info.st_mode & 022) != 0)  // without root's rights, open_trusted() does no checks
        return sys::Error{"site policy " + file + ": others can write to it: chmod go-w"};
    auto text = sys::read_all(opened->get(), kPolicyMaximum);
    if (!text) return text.error().in("site policy " + file);
    return text;
}

sys::Result<job::SitePolicy> parse_trusted_policy(const std::string& text,
                                                  const std::string& file) {
    auto parsed = job::parse_policy(text, file);
    if (!parsed.policy)
        return sys::Error{parsed.findings.empty() ? file + ": not a policy"
                                                  : parsed.findings.front().text()};
    parsed.policy->file = file;
    return *std::move(parsed.policy);
}

sys::Result<job::SitePolicy> load_trusted_policy(const std::string& file) {
    const auto text = read_trusted_policy(file);
    if (!text) return text.error();
    return parse_trusted_policy(*text, file);
}

}  // namespace batchai::spank
