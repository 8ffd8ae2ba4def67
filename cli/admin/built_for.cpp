// SPDX-License-Identifier: Apache-2.0
#include "cli/admin/built_for.hpp"

#include <sstream>

#include "sys/file.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kLargestPlugin = 16 << 20;
constexpr const char* kMark = "@(#)batchai plugin ";  // what(1) finds texts with this prefix
constexpr std::size_t kLongest = 64;

}  // namespace

sys::Result<BuiltFor> built_for(const std::string& plugin) {
    const auto bytes = sys::read_file(plugin, kLargestPlugin);
    if (!bytes) return bytes.error();
    BuiltFor built;
    std::string word, slurm;
    const std::size_t at = bytes->find(kMark);
    if (at != bytes->npos) {
        std::istringstream words(bytes->substr(at + std::string(kMark).size(), kLongest));
        words >> built.batchai >> word >> slurm >> built.slurm;
    }
    built.slurm = built.slurm.substr(0, built.slurm.find('\0'));
    if (word != "for" || slurm != "Slurm" || built.slurm.empty())
        return sys::Error{plugin +
                          ": names no Slurm release: it is not a plugin of batchai, or an old one"};
    return built;
}

}  // namespace batchai::cli
