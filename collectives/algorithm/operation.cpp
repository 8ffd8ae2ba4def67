// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace batchai::coll {

void Operation::enter(const Call& call, std::uint64_t number, std::span<const std::byte> data) {
    call_ = call;
    number_ = number;
    arrived_ = 0;
    context_.node.enter(number, call.signature, data);
}

Operation::Agreement Operation::agree() {
    for (; arrived_ < context_.node.size(); ++arrived_) {
        const Node::Entry* entry = context_.node.entered(arrived_, number_);
        if (entry == nullptr) return Agreement::waiting;
        if (entry->signature == call_.signature) continue;
        const std::vector<int>& ranks = context_.topology.members[context_.topology.node()];
        fail({BATCHAI_COLL_ERR_MISMATCH,
              fmt::format("operation {}: ranks disagree: rank {} calls {}, rank {} calls {}",
                          number_, ranks[context_.node.rank()], describe(call_.signature),
                          ranks[arrived_], describe(entry->signature))});
        return Agreement::broken;
    }
    return Agreement::reached;
}

void Operation::find_absent(Missing& missing) const {
    missing.ranks.clear();
    missing.certain = true;
    for (int r = 0; r < context_.node.size(); ++r) {
        if (context_.node.entered(r, number_) == nullptr) {
            missing.ranks.push_back(context_.topology.members[context_.topology.node()][r]);
        }
    }
}

std::string describe(const Missing& missing) {
    constexpr std::size_t kMost = 8;
    const std::vector<int>& ranks = missing.ranks;
    if (ranks.empty()) return "a rank";
    const std::span shown(ranks.data(), std::min(ranks.size(), kMost));
    return fmt::format("rank{} {}{}{}", ranks.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                       ranks.size() > kMost ? ", ..." : "",
                       missing.certain ? "" : " or a neighbour");
}

}  // namespace batchai::coll
