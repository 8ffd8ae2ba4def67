// SPDX-License-Identifier: Apache-2.0
//
// Exchange: the work of one rail on one chunk between the nodes, as a state machine. start() of a
// derived class posts the first messages. step() posts the next ones when those have arrived. It
// never waits. It uses memory of the library, never the caller's buffers.
//
// Combining: the base class of the algorithms of an allreduce (planner.hpp lists them).
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/reduce/kernels.hpp"
#include "collectives/transport/link.hpp"
#include "collectives/transport/wire.hpp"

namespace batchai::coll {

class Exchange {
  public:
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    virtual ~Exchange() = default;

    // True when everything has been sent and received. Do not call it again after that.
    bool step() {
        while (arrived()) {
            if (!advance()) return true;
        }
        return false;
    }
    void abandon() {
        for (Ticket& ticket : tickets_) wire_->cancel(ticket);
        tickets_.clear();
    }
    // Calls `with` for each node whose message is missing.
    template <class With>
    void for_missing(With with) const {
        for (const Ticket& ticket : tickets_) {
            if (ticket.request != nullptr && ticket.receives) with(ticket.node);
        }
    }

  protected:
    void begin(Wire& wire, Tag tag, int slot) {
        wire_ = &wire;
        tag_ = tag;
        slot_ = slot;
        tickets_.clear();
    }
    // Posts the next messages; all earlier ones have arrived. False: the exchange has ended.
    virtual bool advance() = 0;

    void send(int node, int step, const void* data, std::size_t bytes) {
        wire_->send(node, tag_.at(slot_, step), data, bytes, tickets_.emplace_back());
    }
    void receive(int node, int step, void* data, std::size_t bytes) {
        wire_->receive(node, tag_.at(slot_, step), data, bytes, tickets_.emplace_back());
    }

  private:
    bool arrived() {
        std::erase_if(tickets_, [this](Ticket& ticket) { return wire_->done(ticket); });
        return tickets_.empty();
    }

    Wire* wire_ = nullptr;
    Tag tag_;
    int slot_ = 0;
    std::vector<Ticket> tickets_;  // reused, to avoid allocations
};

class Combining : public Exchange {
  public:
    // data: this node's partial result, then the result. scratch: as many bytes as the algorithm
    // needs. scale: the scaling that is not done yet.
    void start(Wire& wire, Tag tag, int slot, int node, int nodes, const Reduction& reduction,
               const Scale& scale, std::byte* data, std::byte* scratch, std::size_t count) {
        begin(wire, tag, slot);
        node_ = node;
        nodes_ = nodes;
        reduction_ = reduction;
        scale_ = scale;
        data_ = data;
        scratch_ = scratch;
        count_ = count;
        prepare();
    }

  protected:
    // Sets the state of the derived class for a new start.
    virtual void prepare() = 0;

    int node_ = 0, nodes_ = 1;
    Reduction reduction_;
    Scale scale_;
    std::byte *data_ = nullptr, *scratch_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace batchai::coll
