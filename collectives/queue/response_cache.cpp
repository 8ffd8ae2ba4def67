// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/response_cache.hpp"

namespace batchai::coll {

void ResponseCache::clear() {
    ids_.clear();
    keys_.clear();
}

void ResponseCache::add(std::string_view identity) {
    const std::uint64_t hash = hash_of(identity);
    if (ids_.contains({hash, identity})) return;
    keys_.push_back(std::make_unique<std::string>(identity));
    ids_.emplace(Key{hash, *keys_.back()}, static_cast<int>(keys_.size()) - 1);
}

int ResponseCache::find(const Submission& submission) const {
    const auto found = ids_.find({submission.hash, identity_of(submission.key)});
    return found == ids_.end() ? -1 : found->second;
}

}  // namespace batchai::coll
