// SPDX-License-Identifier: Apache-2.0
//
// Store: a node's copy of the keys that the ranks of a job have put. Ranks of this node see a key
// at once. Ranks of other nodes see it after the next barrier, which carries the new keys.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace batchai::launcher::pmi1 {

class Store {
  public:
    // False: ranks of this node have put too much. Keys and values must not contain a newline; keys
    // must not contain a space.
    bool put(std::string_view key, std::string_view value);
    // nullptr: the key is unknown.
    const std::string* get(std::string_view key) const;

    // Returns the keys that this node's ranks have put since the last call. The texts of several
    // nodes may be joined before merge().
    std::string take_new();
    void merge(std::string_view text);

    // Limit for the sum of all keys and values.
    static constexpr std::size_t kMaxBytes = 64 << 20;

  private:
    void set(std::string_view key, std::string_view value);

    std::map<std::string, std::string, std::less<>> values_;
    std::set<std::string, std::less<>> new_;
    std::size_t bytes_ = 0;
};

}  // namespace batchai::launcher::pmi1
