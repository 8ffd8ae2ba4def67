// SPDX-License-Identifier: Apache-2.0
//
// Network, MemoryWire: a Wire between ranks of one process, for tests. Messages are under way for a
// random while and overtake each other as UCX lets them: only those of equal tags, from one node to
// another, stay in order. A sender's buffer is read when the message arrives, so a buffer that is
// used again too early shows as wrong data. All in one thread, and the same way for the same seed.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "collectives/transport/wire.hpp"
#include "counting.hpp"

namespace batchai::coll {

class MemoryWire;

// One rail: the wires of the ranks with the same local rank.
class Network {
  public:
    Network(int nodes, unsigned seed) : wires(nodes), random(seed) {}
    // From now on the node's messages, both ways, get lost, and both sides are told.
    void cut(int node);

    std::vector<MemoryWire*> wires;  // by node
    std::mt19937 random;
};

class MemoryWire final : public Wire {
  public:
    MemoryWire(Network& network, int node) : network_(network), node_(node) {
        network.wires[node] = this;
    }

    void send(int node, Tag tag, const void* data, std::size_t bytes, Ticket& ticket) override {
        const Counting off(false);
        auto request = std::make_shared<Request>();
        request->data = const_cast<void*>(data);
        request->bytes = bytes;
        hold(ticket, request, node, false, bytes);
        sent_ += bytes;
        if (!cut_ && !network_.wires[node]->cut_) {
            network_.wires[node]->arriving_.push_back({tag.from(node_).bits, request, {}});
        }
    }
    void receive(int node, Tag tag, void* data, std::size_t bytes, Ticket& ticket) override {
        const Counting off(false);
        auto request = std::make_shared<Request>();
        request->data = data;
        request->bytes = bytes;
        hold(ticket, request, node, true, bytes);
        const std::uint64_t bits = tag.from(node).bits;
        for (auto message = unexpected_.begin(); message != unexpected_.end(); ++message) {
            if (message->tag != bits) continue;
            complete(*request, message->text);
            unexpected_.erase(message);
            return;
        }
        posted_.push_back({bits, request, {}});
    }
    bool done(Ticket& ticket) override {
        const Counting off(false);
        if (ticket.request == nullptr) return true;
        const Request& request = *static_cast<Request*>(ticket.request);
        if (!request.done) return false;
        if (ticket.receives && request.arrived != ticket.expected) {
            lose(ticket.node, "a message of an unexpected length");
            return false;
        }
        drop(ticket);
        return true;
    }
    // What was sent may still arrive.
    void cancel(Ticket& ticket) override {
        const Counting off(false);
        std::erase_if(posted_, [&](const Message& message) {
            return message.request.get() == ticket.request;
        });
        drop(ticket);
    }
    bool progress() override {
        const Counting off(false);
        bool moved = false;
        while (!arriving_.empty() && network_.random() % 3 != 0) {
            take(network_.random() % arriving_.size());
            moved = true;
        }
        return moved;
    }
    void flush() override {}
    void send_note(int node, Note note, std::string_view text) override {
        const Counting off(false);
        Ticket ticket;
        notes_sent_.emplace_back(text);
        send(node, Tag::of(note), notes_sent_.back().data(), notes_sent_.back().size(), ticket);
    }
    void send_out_notes() override {}
    std::optional<std::string> take_note(Note note) override {
        const Counting off(false);
        for (auto message = unexpected_.begin(); message != unexpected_.end(); ++message) {
            if ((message->tag & Tag::kClass) != Tag::of(note).bits) continue;
            std::string text = std::move(message->text);
            unexpected_.erase(message);
            return text;
        }
        return std::nullopt;
    }
    std::size_t sent() const { return sent_; }  // bytes
    // Messages and receives under way; notes do not count, because no rank waits for them.
    std::size_t unread() const {
        const auto is_data = [](const Message& it) { return (it.tag & Tag::kClass) == 0; };
        return static_cast<std::size_t>(
            std::count_if(unexpected_.begin(), unexpected_.end(), is_data) +
            std::count_if(arriving_.begin(), arriving_.end(), is_data) +
            std::count_if(posted_.begin(), posted_.end(), is_data));
    }

  private:
    friend class Network;
    struct Request {
        void* data = nullptr;
        std::size_t bytes = 0, arrived = 0;
        bool done = false;
    };
    struct Message {
        std::uint64_t tag;
        std::shared_ptr<Request> request;  // the sender's, or of what is posted the receiver's
        std::string text;                  // of a note, which no rank waits for
    };

    void hold(Ticket& ticket, const std::shared_ptr<Request>& request, int node, bool receives,
              std::size_t bytes) {
        requests_.emplace(request.get(), request);
        ticket = {request.get(), bytes, node, receives};
    }
    void drop(Ticket& ticket) {
        requests_.erase(ticket.request);
        ticket.request = nullptr;
    }
    static void complete(Request& request, const std::string& text) {
        request.arrived = text.size();
        if (!text.empty()) {
            std::memcpy(request.data, text.data(), std::min(text.size(), request.bytes));
        }
        request.done = true;
    }
    // The first message under way with the tag of the index-th.
    void take(std::size_t index) {
        const std::uint64_t tag = arriving_[index].tag;
        std::size_t first = 0;
        while (arriving_[first].tag != tag) ++first;
        Message message = std::move(arriving_[first]);
        arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(first));
        Request& sent = *message.request;
        message.text.assign(static_cast<const char*>(sent.data), sent.bytes);
        sent.done = true;
        for (auto it = posted_.begin(); it != posted_.end(); ++it) {
            if (it->tag != tag) continue;
            complete(*it->request, message.text);
            posted_.erase(it);
            return;
        }
        unexpected_.push_back(std::move(message));
    }

    Network& network_;
    int node_;
    bool cut_ = false;
    std::size_t sent_ = 0;
    std::deque<Message> arriving_;
    std::list<Message> posted_, unexpected_;
    std::unordered_map<void*, std::shared_ptr<Request>> requests_;  // that have a ticket
    std::list<std::string> notes_sent_;
};

inline void Network::cut(int node) {
    wires[node]->cut_ = true;
    for (MemoryWire* wire : wires) {
        if (wire == nullptr) continue;
        std::erase_if(wire->arriving_, [&](const MemoryWire::Message& message) {
            return wire->node_ == node || (message.tag >> 46 & 0xffff) == unsigned(node);
        });
        wire->lose(wire->node_ != node ? node : (node + 1) % static_cast<int>(wires.size()), "cut");
    }
}

}  // namespace batchai::coll
