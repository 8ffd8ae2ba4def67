// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace batchai::coll {
namespace {

sys::Result<std::string> look_up(const std::map<std::string, std::vector<std::string>>& published,
                                 int rank, const std::string& key) {
    const auto found = published.find(key);
    if (found == published.end())
        return sys::Error{fmt::format("rank {} has not published its {}", rank, key)};
    return found->second[static_cast<std::size_t>(rank)];
}

}  // namespace

Group::Group(Engine& parent, int parent_rank, int parent_size, std::vector<int> members)
    : parent_(parent), parent_size_(parent_size), members_(std::move(members)) {
    const auto found = std::find(members_.begin(), members_.end(), parent_rank);
    if (found != members_.end()) rank_ = static_cast<int>(found - members_.begin());
}

sys::Result<void> Group::allgather(Signature signature, const void* send, void* receive,
                                   const std::vector<std::size_t>& counts) {
    signature.kind = Kind::allgather;
    const Call call{signature, static_cast<const std::byte*>(send),
                    static_cast<std::byte*>(receive), counts};
    if (parent_.failure().status == BATCHAI_COLL_OK &&
        parent_.wait(parent_.start(call)) == BATCHAI_COLL_OK) {
        return {};
    }
    return sys::Error{parent_.failure().sentence};
}

sys::Result<void> Group::publish(const std::string& key, const std::string& value) {
    std::vector<std::size_t> lengths(static_cast<std::size_t>(parent_size_));
    const std::uint64_t own = is_member() ? value.size() : 0;
    static_assert(sizeof own == sizeof lengths[0]);
    Signature numbers;
    numbers.count = 1;
    numbers.type = BATCHAI_COLL_INT64;
    if (auto done = allgather(numbers, &own, lengths.data(), {}); !done) return done;

    Signature bytes;
    bytes.count = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    std::string texts(bytes.count, '\0');
    if (auto done = allgather(bytes, value.data(), texts.data(), lengths); !done) return done;

    std::vector<std::string>& values = published_[key];
    values.assign(members_.size(), "");
    std::size_t at = 0;
    for (int rank = 0, member = 0; rank < parent_size_; ++rank) {
        if (member < size() && members_[static_cast<std::size_t>(member)] == rank) {
            values[static_cast<std::size_t>(member++)] = texts.substr(at, lengths[rank]);
        }
        at += lengths[rank];
    }
    return {};
}

sys::Result<std::string> Group::lookup(int rank, const std::string& key) const {
    return look_up(published_, rank, key);
}

Acquaintances::Acquaintances(int rank, int size, Exchange exchange)
    : rank_(rank), size_(size), exchange_(std::move(exchange)) {}

sys::Result<void> Acquaintances::publish(const std::string& key, const std::string& value) {
    const auto size = static_cast<std::size_t>(size_);
    const std::uint64_t own = value.size();
    std::vector<std::uint64_t> lengths(size);
    const sys::Error failed{"the exchange between the group's ranks failed"};
    if (!exchange_(&own, sizeof own, lengths.data())) return failed;
    const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::string padded = value, texts(size * longest, '\0');
    padded.resize(longest);
    if (!exchange_(padded.data(), longest, texts.data())) return failed;
    std::vector<std::string>& values = published_[key];
    for (std::size_t rank = 0; rank < size; ++rank) {
        values.push_back(texts.substr(rank * longest, lengths[rank]));
    }
    return {};
}

sys::Result<std::string> Acquaintances::lookup(int rank, const std::string& key) const {
    return look_up(published_, rank, key);
}

}  // namespace batchai::coll
