// SPDX-License-Identifier: Apache-2.0
//
// Slurm's lists of hosts and of numbers, from the environment and from the root's messages.
#include "slurm/host_list.hpp"

#include "sys/text.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai::slurm;
using batchai::sys::counts_of;
using batchai::sys::expand_counts;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 1u << 20;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto names = expand_hostlist(text);
    fuzz::must(names.size() <= kMost, "at most a million names", text);
    const auto is_plain = [](const std::string& name) {
        return !name.empty() && name.find_first_of("[],") == name.npos;
    };
    if (names.size() < 1000 && std::all_of(names.begin(), names.end(), is_plain)) {
        const std::string list = hostlist_of(names);
        fuzz::must(expand_hostlist(list) == names, "a list gives its names back", list);
    }
    const auto counts = expand_counts(text);
    fuzz::must(counts.size() <= kMost, "at most a million numbers", text);
    const std::string list = counts_of(counts);
    fuzz::must(expand_counts(list) == counts, "a list gives its numbers back", list);
    return 0;
}
