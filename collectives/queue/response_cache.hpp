// SPDX-License-Identifier: Apache-2.0
//
// ResponseCache: a number for each operation that all ranks have seen, the same on all of them, so
// that they can speak of it in a byte. All ranks add the same ones in the same order.
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

    // Whether so many more keys fit. Else all are to be forgotten first.
    bool has_room_for(std::size_t keys) const { return size() + keys <= capacity_; }
    std::size_t size() const { return keys_.size(); }
    std::size_t capacity() const { return capacity_; }
    void clear();

    void add(std::string_view identity);
    // Sets the submission's number; -1: it is not there.
    void identify(Submission& submission) const;

  private:
    struct Key {
        std::uint64_t hash;
        std::string_view text;
        bool operator==(const Key& other) const { return text == other.text; }
    };
    struct Hash {
        std::size_t operator()(const Key& key) const { return key.hash; }
    };

    std::size_t capacity_;
    std::uint64_t book_ = 1;                          // grows when all are forgotten
    std::vector<std::unique_ptr<std::string>> keys_;  // by id; they do not move
    std::unordered_map<Key, int, Hash> ids_;
};

}  // namespace batchai::coll
