// SPDX-License-Identifier: Apache-2.0
//
// KeyValues: the values that ranks of Horovod with Gloo exchange before they are connected, each
// under a scope and a key. It reads requests in the form of HTTP/1.1 and makes the answers. Pure.
//
// A scope of ranks (global, local_NODE, cross_LOCALRANK) ends when each of its ranks has deleted
// its own number in it. It is then empty, so that the ranks may meet again. In other scopes a
// DELETE deletes at once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "launcher/common/gloo_request.hpp"
#include "launcher/common/map.hpp"

namespace batchai::launcher::gloo {

// Takes a connection's bytes until they are a request.
class RequestReader {
  public:
    enum class State { incomplete, complete, bad, too_large };
    static constexpr std::size_t kMostHead = 8192, kMostBody = 1 << 20;

    State add(std::string_view bytes);
    const Request& request() const { return request_; }

  private:
    State read_head(std::string_view head);

    std::string bytes_;
    std::size_t body_at_ = 0, body_size_ = 0;  // body_at_ is 0 before the head is there
    Request request_;
};

class KeyValues {
  public:
    static constexpr std::size_t kMost = 64 << 20;  // bytes, all in all

    KeyValues() = default;  // of no ranks
    explicit KeyValues(const RankMap& map);

    // The whole answer.
    std::string answer(const Request& request);
    static std::string refusal(RequestReader::State why);

  private:
    struct Scope {
        std::map<std::string, std::string> values;
        std::set<int> over;  // ranks for which it is
    };
    bool put(const Request& request);
    void remove(const Request& request);
    void forget(const std::string& scope, const std::string& key, const std::string& value);

    std::map<std::string, int> sizes_;  // of the scopes of ranks
    std::map<std::string, Scope> scopes_;
    std::size_t bytes_ = 0;
};

}  // namespace batchai::launcher::gloo
