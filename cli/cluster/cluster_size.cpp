// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/cluster_size.hpp"

#include <fmt/format.h>

#include "cli/command_options.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {
namespace {

constexpr int kMostNodes = 100'000;

std::string too_many(const std::string& option, int wanted, const slurm::Partition& partition) {
    if (wanted <= static_cast<int>(partition.nodes.size())) return {};
    return fmt::format("{} {}: partition {} has {} node{}", option, wanted, partition.name,
                       partition.nodes.size(), partition.nodes.size() == 1 ? "" : "s");
}

}  // namespace

void add_target(CLI::App& verb, ClusterSize& size, const std::string& description) {
    verb.add_option("-t,--target", size.target, description)->check(number_from(0, kMostNodes));
}

void add_range(CLI::App& verb, ClusterSize& size) {
    verb.add_option("--min", size.least, "nodes that stay, remembered and shown")
        ->check(number_from(0, kMostNodes));
    verb.add_option("--max", size.most, "nodes at most, of the partition's")
        ->check(number_from(0, kMostNodes));
}

std::string wrong_size(const ClusterSize& size, const slurm::Partition& partition) {
    if (auto wrong = too_many("--target", size.target.value_or(0), partition); !wrong.empty())
        return wrong;
    if (!size.least && !size.most) return {};
    if (!size.least || !size.most) return "--min and --max go together: give both";
    if (*size.least > *size.most)
        return fmt::format("--min {} is more than --max {}", *size.least, *size.most);
    return too_many("--max", *size.most, partition);
}

nlohmann::json auto_scale_json(const ClusterSize& size) {
    return {{"initialNodeCount", size.target.value_or(0)},
            {"maximumNodeCount", *size.most},
            {"minimumNodeCount", *size.least}};
}

}  // namespace batchai::cli
