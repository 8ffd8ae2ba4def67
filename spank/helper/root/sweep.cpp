// SPDX-License-Identifier: Apache-2.0
//
// `batchai-helper sweep`. The plugin runs it at the start of slurmd. It has interrupted ends of
// jobs finished in the background, also ends that a reboot interrupted. It prints the version and
// policy for slurmd's log.
#include <cstdio>

#include "spank/helper/exit_code.hpp"
#include "spank/helper/root/end.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/helper/root/setup.hpp"
#include "spank/helper/root/trusted_policy.hpp"
#include "spank/protocol.hpp"
#include "sys/digest.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

// A namespace that is not pinned any more is from before a reboot.
void mark_jobs_from_before_a_reboot() {
    for (const auto& job : JobDirectory::all()) {
        const auto directory = JobDirectory::open(job, false);
        if (directory && directory->state().get("namespace") == "own" && !is_pinned(*directory))
            (void)directory->touch(kEndingFile);
    }
}

int fail(const sys::Error& error) {
    std::fprintf(stderr, "batchai " BATCHAI_VERSION ": %s\n",
                 sys::printable(error.message).c_str());
    return kFailure;
}

}  // namespace

int sweep(const std::string& policy_file, const Counters& counters) {
    if (auto made = prepare_base(); !made) return fail(made.error());
    mark_jobs_from_before_a_reboot();
    finish_interrupted_ends(counters);
    const auto text = read_trusted_policy(policy_file);
    if (!text) return fail(text.error());
    if (const auto policy = parse_trusted_policy(*text, policy_file); !policy)
        return fail(policy.error());
    std::printf("batchai " BATCHAI_VERSION ": site policy %s, SHA-256 %s\n", policy_file.c_str(),
                sys::sha256(*text).c_str());
    return 0;
}

}  // namespace batchai::spank
