// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/response_cache.hpp"

namespace batchai::coll {

void ResponseCache::clear() {
    ++book_;
    ids_.clear();
    first_of_name_.clear();
    keys_.clear();
    shared_names_ = 0;
}

void ResponseCache::add(std::string_view identity) {
    const std::uint64_t hash = hash_of(identity);
    if (ids_.contains({hash, identity})) return;
    const auto id = static_cast<int>(keys_.size());
    keys_.push_back({std::make_unique<std::string>(identity), -1});
    const std::string& key = *keys_.back().key;
    ids_.emplace(Key{hash, key}, id);
    if (!is_named(key)) return;
    Entry& first =
        keys_[static_cast<std::size_t>(first_of_name_.emplace(name_of(key), id).first->second)];
    if (first.key.get() == &key) return;
    if (first.shared_name < 0) first.shared_name = static_cast<int>(shared_names_++);
    keys_.back().shared_name = first.shared_name;
}

void ResponseCache::identify(Submission& submission) const {
    if (submission.id >= 0 && submission.book == book_) return;
    const auto found = ids_.find({submission.hash, identity_of(submission.key)});
    submission.id = found == ids_.end() ? -1 : found->second;
    submission.book = book_;
}

}  // namespace batchai::coll
