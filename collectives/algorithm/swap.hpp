// SPDX-License-Identifier: Apache-2.0
//
// Swap: one chunk's messages between the nodes if every node has data for every other node. It
// posts all messages at once.
//
// Cost for m bytes that a node sends to each other node: a + (N-1) m b, with the least possible
// number of bytes. Like direct.hpp, it needs a network that takes N-1 messages at once.
#pragma once

#include <vector>

#include "collectives/algorithm/exchange.hpp"

namespace batchai::coll {

class Swap final : public Exchange {
  public:
    void start(Wire& wire, Tag tag, int slot) {
        begin(wire, tag, slot);
        sends_.clear();
        receives_.clear();
        posted_ = false;
    }
    // Both sides add the messages between two nodes in the same order. Empty messages are sent too:
    // they show that their node takes part.
    void add_send(int node, const std::byte* data, std::size_t bytes) {
        sends_.push_back({node, data, bytes});
    }
    void add_receive(int node, std::byte* data, std::size_t bytes) {
        receives_.push_back({node, data, bytes});
    }

  protected:
    bool advance() override {
        if (posted_) return false;
        posted_ = true;
        for (const auto& [node, data, bytes] : receives_) receive(node, 0, data, bytes);
        for (const auto& [node, data, bytes] : sends_) send(node, 0, data, bytes);
        return true;
    }

  private:
    template <class Data>
    struct Message {
        int node;
        Data* data;
        std::size_t bytes;
    };

    std::vector<Message<const std::byte>> sends_;
    std::vector<Message<std::byte>> receives_;
    bool posted_ = false;
};

}  // namespace batchai::coll
