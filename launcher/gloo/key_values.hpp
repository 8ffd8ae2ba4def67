// SPDX-License-Identifier: Apache-2.0
//
// KeyValues: the values that ranks of Horovod with Gloo exchange before they are connected, each
// under a scope and a key. It parses HTTP/1.1 requests and makes the answers. It does no input or
// output.
//
// A scope of ranks (global, local_NODE, cross_LOCALRANK) ends when each of its ranks has deleted
// its own number in it. The scope is then empty, so that the ranks can use it again. In other
// scopes a DELETE deletes at once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "launcher/common/map.hpp"
#include "launcher/common/message_pmix.hpp"

namespace batchai::launcher::gloo {

// Collects a connection's bytes until they are a complete request.
class RequestReader {
  public:
    enum class State { incomplete, complete, bad, too_large };
    static constexpr std::size_t kMostHead = 8192, kMostBody = 1 << 20;

    State add(std::string_view bytes);
    const Request& request() const { return request_; }

  private:
    State read_head(std::string_view head);

    std::string bytes_;
    std::size_t body_at_ = 0, body_size_ = 0;  // body_at_ is 0 until the head is complete
    Request request_;
};

class KeyValues {
  public:
    static constexpr std::size_t kMost = 64 << 20;  // bytes in total

    KeyValues() = default;  // knows no ranks
    explicit KeyValues(const RankMap& map);

    // Returns the complete HTTP answer.
    std::string answer(const Request& request);
    static std::string refusal(RequestReader::State why);

  private:
    struct Scope {
        std::map<std::string, std::string> values;
        std::set<int> over;  // ranks that have ended the scope
    };
    bool put(const Request& request);
    void remove(const Request& request);
    void forget(const std::string& scope, const std::string& key, const std::string& value);

    std::map<std::string, int> sizes_;  // of the scopes of ranks
    std::map<std::string, Scope> scopes_;
    std::size_t bytes_ = 0;
};

}  // namespace batchai::launcher::gloo
