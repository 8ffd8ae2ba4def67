// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/trusted_policy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/helper/files.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {
constexpr std::size_t kPolicyMaximum = 1024 * 1024;
}

sys::Result<job::SitePolicy> load_trusted_policy(const std::string& file) {
    const sys::UniqueFd opened(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat info = {};
    if (!opened || fstat(opened.get(), &info) != 0) return sys::errno_error("site policy " + file);
    if (!S_ISREG(info.st_mode) || (info.st_uid != 0 && info.st_uid != geteuid()) ||
        (info.st_mode & 022) != 0)
        return sys::Error{"site policy " + file +
                          ": must be a file of root that nobody else can write to"};
    const auto text = read_all(opened.get(), kPolicyMaximum);
    if (!text) return text.error().in("site policy " + file);
    auto parsed = job::parse_policy(*text, file);
    if (!parsed.policy)
        return sys::Error{parsed.findings.empty() ? file + ": not a policy"
                                                  : parsed.findings.front().text()};
    parsed.policy->file = file;
    return *std::move(parsed.policy);
}

}  // namespace batchai::spank
