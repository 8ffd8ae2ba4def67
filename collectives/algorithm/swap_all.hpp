// SPDX-License-Identifier: Apache-2.0
//
// SwapAll: one chunk of an allgather. A rail sends the blocks that it carries for its node to every
// other node and receives theirs.
//
// Cost for a node's m bytes: a + (N-1) m b; the bytes are those of the lower bound. As direct.hpp,
// it asks the network to take N-1 messages at once.
#pragma once

#include <vector>

#include "collectives/algorithm/exchange.hpp"

namespace batchai::coll {

class SwapAll final : public Exchange {
  public:
    struct Block {
        int node;
        std::byte* data;
    };

    void start(Wire& wire, Tag tag, int slot, int node, int nodes, std::size_t block_bytes) {
        begin(wire, tag, slot);
        node_ = node;
        nodes_ = nodes;
        bytes_ = block_bytes;
        own_.clear();
        theirs_.clear();
        posted_ = false;
    }
    // Blocks of one node must be named in the same order on both sides.
    void add_own(std::byte* data) { own_.push_back(data); }
    void add_theirs(int node, std::byte* data) { theirs_.push_back({node, data}); }

  protected:
    bool advance() override {
        if (posted_) return false;
        posted_ = true;
        for (const Block& block : theirs_) receive(block.node, 0, block.data, bytes_);
        for (int i = 1; i < nodes_; ++i) {
            for (const std::byte* data : own_) send((node_ + i) % nodes_, 0, data, bytes_);
        }
        return true;
    }

  private:
    int node_ = 0, nodes_ = 1;
    std::size_t bytes_ = 0;
    std::vector<const std::byte*> own_;
    std::vector<Block> theirs_;
    bool posted_ = false;
};

}  // namespace batchai::coll
