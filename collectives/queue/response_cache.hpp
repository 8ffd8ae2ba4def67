// SPDX-License-Identifier: Apache-2.0
//
// ResponseCache: gives each operation that all ranks have seen a number, the same on all ranks, so
// that one byte in a message represents it. All ranks add the same operations in the same order.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {

class ResponseCache {
  public:
    explicit ResponseCache(std::size_t capacity) : capacity_(capacity) {}

    // Whether so many more keys fit. If not, the caller must first forget all keys with clear().
    bool has_room_for(std::size_t keys) const { return size() + keys <= capacity_; }
    std::size_t size() const { return keys_.size(); }
    std::size_t capacity() const { return capacity_; }
    void clear();

    void add(std::string_view identity);
    // Sets the submission's number; -1: its key is not in the cache.
    void identify(Submission& submission) const;

    // Names that several operations share, because the shape of a tensor changes: the number of
    // such names, and the index of an operation's name. -1: only this operation has the name.
    std::size_t shared_names() const { return shared_names_; }
    int shared_name(int id) const { return keys_[static_cast<std::size_t>(id)].shared_name; }

  private:
    struct Key {
        std::uint64_t hash;
        std::string_view text;
        bool operator==(const Key& other) const { return text == other.text; }
    };
    struct Hash {
        std::size_t operator()(const Key& key) const { return key.hash; }
    };

    struct Entry {
        std::unique_ptr<std::string> key;  // its address does not change
        int shared_name = -1;
    };

    std::size_t capacity_;
    std::uint64_t book_ = 1;   // incremented by clear()
    std::vector<Entry> keys_;  // by id
    std::unordered_map<Key, int, Hash> ids_;
    std::unordered_map<std::string_view, int> first_of_name_;  // id by name
    std::size_t shared_names_ = 0;
};

}  // namespace batchai::coll
