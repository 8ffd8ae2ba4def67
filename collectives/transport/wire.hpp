// SPDX-License-Identifier: Apache-2.0
//
// Wire: messages between this rank and its counterparts on the other nodes. ucx.hpp implements it;
// tests have an implementation in memory.
//
// Calls that carry data do not block. Buffers must stay until their Ticket is done. A failed send
// or receive is never done: lost() has the reason. Messages with equal tags arrive in the order in
// which they were sent. One thread at a time may use a Wire.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/common/call.hpp"

namespace batchai::coll {

// Messages that no receive waits for. Ranks check for them from time to time.
enum class Note : std::uint64_t {
    entered = 1,  // the operation that the sender calls
    failed = 2,   // the failure with which the sender has given up
};

// Tag: the 64 bits by which UCX matches a message with the receive that waits for it. The tag of a
// data message names the sending node, the operation with its signature, and the message's number
// within the operation. So data of a rank that calls another operation is never received as the
// expected data. Pure.
//
//   class 2 | node 16 | operation 10 | slot 3 | step 5 | kind 4 | op 3 | type 4 | fold 17
//
// Numbers are reduced modulo their width. This is safe: nodes are never more than a few operations
// apart, and messages with equal tags arrive in order. Messages of the other classes differ in
// their contents.
struct Tag {
    std::uint64_t bits = 0;

    static constexpr std::uint64_t kClass = 3ull << 62;
    static constexpr int kSlots = 1 << 3;  // slots that tags can distinguish

    // Count, root, layout and factors, folded to 17 bits. Two different values are equal once in
    // 130,000 times. If the counts differ, the lengths of the messages then still differ.
    static std::uint64_t fold(const Signature& signature) {
        const std::uint64_t mixed =
            (signature.count + (signature.on_devices ? 0x5851f42d4c957f2dull : 0) +
             0x9e3779b97f4a7c15ull * static_cast<std::uint32_t>(signature.root) +
             0x165667b19e3779f9ull * signature.layout +
             0x27d4eb2f165667c5ull * low_bits(signature.before) +
             0x85ebca77c2b2ae63ull * low_bits(signature.after)) *
            0xff51afd7ed558ccdull;
        return mixed >> 47;
    }

    // Most factors differ only in their highest bits.
    static std::uint64_t low_bits(double factor) {
        return std::rotl(std::bit_cast<std::uint64_t>(factor), 32);
    }

    static Tag of(std::uint64_t operation, const Signature& signature) {
        return {(operation & 0x3ff) << 36 | static_cast<std::uint64_t>(signature.kind) << 24 |
                static_cast<std::uint64_t>(signature.op) << 21 |
                static_cast<std::uint64_t>(signature.type) << 17 | fold(signature)};
    }
    static Tag of(Note note) { return {static_cast<std::uint64_t>(note) << 62}; }

    // The message of this step of the exchange in this slot.
    Tag at(int slot, int step) const {
        return {bits | static_cast<std::uint64_t>(slot) << 33 |
                static_cast<std::uint64_t>(step) << 28};
    }
    Tag from(int node) const { return {bits | static_cast<std::uint64_t>(node) << 46}; }
};

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
