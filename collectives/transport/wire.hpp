// SPDX-License-Identifier: Apache-2.0
//
// Wire: messages between this rank and its counterparts on the other nodes. ucx.hpp implements it;
// tests have one in memory.
//
// Calls that carry data do not block. Buffers must stay until their Ticket is done. A failed send
// or receive is never done: lost() says why. Messages of equal tags arrive in the order in which
// they were sent. One thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/transport/tag.hpp"

namespace batchai::coll {

// A message under way.
struct Ticket {
    void* request = nullptr;   // the wire's; null: done
    std::size_t expected = 0;  // bytes
    int node = -1;
    bool receives = false;
    Memory memory = Memory::host;  // the kind of memory of the buffer, as the caller says
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
    // Gives the message up. Its buffer has to stay until the Wire is destroyed.
    virtual void cancel(Ticket& ticket) = 0;

    // Whether it reads and writes such memory. The host's: always.
    virtual bool carries(Memory memory) const { return memory == Memory::host; }

    // Moves messages; returns whether there was something to move.
    virtual bool progress() = 0;
    // Everything sent has left this process. Waits a few seconds at most.
    virtual void flush() = 0;

    // Why messages no longer arrive, and from which node.
    struct Loss {
        int node;
        std::string why;
    };
    const std::optional<Loss>& lost() const { return loss_; }

    // Sends a note. It is delivered sooner or later, as progress is made.
    virtual void send_note(int node, Note note, std::string_view text) = 0;
    // Waits, for half a second at most, until all notes have been sent.
    virtual void send_out_notes() = 0;
    // A note of this kind that has arrived.
    virtual std::optional<std::string> take_note(Note note) = 0;

  protected:
    void lose(int node, const std::string& why) {
        if (!loss_) loss_ = Loss{node, why};
    }

  private:
    std::optional<Loss> loss_;
};

}  // namespace batchai::coll
