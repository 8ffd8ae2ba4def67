// SPDX-License-Identifier: Apache-2.0
//
// Wire: messages between this rank and its counterparts on the other nodes. ucx.hpp implements it;
// tests have an implementation in memory.
//
// Calls that carry data do not block. Buffers must stay until their Ticket is done. A failed send
// or receive is never done: lost() has the reason. Messages with equal tags arrive in the order in
// which they were sent. One thread at a time may use a Wire.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/transport/tag.hpp"

namespace batchai::coll {

// A pending message.
struct Ticket {
    void* request = nullptr;   // the wire's; null: done
    std::size_t expected = 0;  // bytes
    int node = -1;
    bool receives = false;
};

class Wire {
  public:
    Wire() = default;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    virtual ~Wire() = default;

    virtual void send(int node, Tag tag, const void* data, std::size_t bytes, Ticket& ticket) = 0;
    virtual void receive(int node, Tag tag, void* data, std::size_t bytes, Ticket& ticket) = 0;
    virtual bool done(Ticket& ticket) = 0;
    // Cancels the message. Its buffer must stay until the Wire is destroyed.
    virtual void cancel(Ticket& ticket) = 0;

    // Makes progress on messages; returns whether there was any.
    virtual bool progress() = 0;
    // Waits, at most a few seconds, until everything sent has left this process.
    virtual void flush() = 0;

    // The reason why messages no longer arrive, and from which node.
    struct Loss {
        int node;
        std::string why;
    };
    const std::optional<Loss>& lost() const { return loss_; }

    // Sends a note. Calls of progress() deliver it.
    virtual void send_note(int node, Note note, std::string_view text) = 0;
    // Waits, at most half a second, until all notes were sent.
    virtual void send_out_notes() = 0;
    // Takes a note of this kind; nullopt: none has arrived.
    virtual std::optional<std::string> take_note(Note note) = 0;

  protected:
    void lose(int node, const std::string& why) {
        if (!loss_) loss_ = Loss{node, why};
    }

  private:
    std::optional<Loss> loss_;
};

}  // namespace batchai::coll
