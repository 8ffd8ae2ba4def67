// SPDX-License-Identifier: Apache-2.0
//
// The text of --batchai-mount, which root's helper reads.
#include <algorithm>

#include "job/plan.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai::job;

namespace {

// Where the site of these tests lets a mount's source be.
std::string root_of(MountType type) {
    const auto& allowed = fuzz::site().allowed;
    const auto of_type = std::find_if(allowed.begin(), allowed.end(), [type](const auto& allow) {
        return allow.file_system.type == type;
    });
    fuzz::must(of_type != allowed.end(), "the policy has an entry of the kind", name_of(type));
    return of_type->file_system.source;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto mounts = parse_mounts(text, fuzz::site());
    if (!mounts) {
        fuzz::must_be_one_line(mounts.error().message);
        return 0;
    }
    for (const Mount& mount : *mounts) {
        const std::string source = mount.source;
        fuzz::must_stay_below(mount.target);
        fuzz::must((source + "/").find("/../") == source.npos, "a source goes down only", source);
        const auto below = [&](const std::string& root) {
            return source == root || source.starts_with(root + "/");
        };
        fuzz::must(mount.type == MountType::tmpfs ? source.empty() : below(root_of(mount.type)),
                   "a source is one that the policy allows", source);
        if (mount.kind().is_remote)
            fuzz::must(find_entry(fuzz::site(), mount.entry) != nullptr,
                       "a remote mount names an entry of the policy", source);
    }
    return 0;
}
