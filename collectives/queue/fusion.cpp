// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/fusion.hpp"

#include <algorithm>

namespace batchai::coll {

std::optional<FusionKey> fusion_key(const Submission& submission) {
    std::optional<FusionKey> key;
    for (const Part& part : submission.parts) {
        const Signature& signature = part.signature;
        const FusionKey own{signature.type, signature.op, signature.before, signature.after,
                            submission.on_device()};
        if (key && *key != own) return std::nullopt;
        key = own;
    }
    return key;
}

std::size_t elements_of(const Submission& submission) {
    std::size_t sum = 0;
    for (const Part& part : submission.parts) sum += part.signature.count;
    return sum;
}

std::vector<Fused> fuse(const std::vector<Item>& items, std::size_t threshold) {
    struct Open {
        Fused group;
        std::size_t bytes;
    };
    std::vector<Open> open;
    std::vector<Fused> groups;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        const auto like = std::find_if(open.begin(), open.end(), [&](const Open& other) {
            const Item& first = items[other.group.front()];
            return item.key && first.key == item.key && first.section == item.section;
        });
        if (like == open.end()) {
            open.push_back({{i}, item.bytes});
        } else if (like->bytes + item.bytes <= threshold &&
                   (like->bytes + item.bytes <= item.most || like->bytes < item.least)) {
            like->group.push_back(i);
            like->bytes += item.bytes;
        } else {
            groups.push_back(std::move(like->group));
            *like = {{i}, item.bytes};
        }
    }
    for (Open& last : open) groups.push_back(std::move(last.group));
    std::sort(groups.begin(), groups.end(),
              [](const Fused& a, const Fused& b) { return a.back() < b.back(); });
    return groups;
}

}  // namespace batchai::coll
