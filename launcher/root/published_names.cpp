// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/published_names.hpp"

#include <algorithm>

namespace batchai::launcher {

bool PublishedNames::publish(const std::vector<Item>& items) {
    const auto taken = [this](const Item& item) { return items_.contains(item.key); };
    if (std::any_of(items.begin(), items.end(), taken)) return false;
    for (const Item& item : items) items_[item.key] = item;
    return true;
}

std::vector<Item> PublishedNames::lookup(const std::vector<std::string>& keys) const {
    std::vector<Item> found;
    for (const std::string& key : keys) {
        if (const auto item = items_.find(key); item != items_.end()) found.push_back(item->second);
    }
    return found;
}

void PublishedNames::unpublish(std::uint32_t owner, const std::vector<std::string>& keys) {
    std::erase_if(items_, [&](const auto& entry) {
        const bool named =
            keys.empty() || std::find(keys.begin(), keys.end(), entry.first) != keys.end();
        return named && entry.second.owner == owner;
    });
}

}  // namespace batchai::launcher
