// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/response_cache.hpp"

namespace batchai::coll {

void ResponseCache::clear() {
    ++book_;
    ids_.clear();
    keys_.clear();
}

void ResponseCache::add(std::string_view identity) {
    const std::uint64_t hash = hash_of(identity);
    if (ids_.contains({hash, identity})) return;
    keys_.push_back(std::make_unique<std::string>(identity));
    ids_.emplace(Key{hash, *keys_.back()}, static_cast<int>(keys_.size()) - 1);
}

void ResponseCache::identify(Submission& submission) const {
    if (submission.id >= 0 && submission.book == book_) return;
    const auto found = ids_.find({submission.hash, identity_of(submission.key)});
    submission.id = found == ids_.end() ? -1 : found->second;
    submission.book = book_;
}

}  // namespace batchai::coll
