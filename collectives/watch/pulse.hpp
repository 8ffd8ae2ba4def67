// SPDX-License-Identifier: Apache-2.0
//
// Pulse: one end of the connection between the watchdogs of two nodes. It carries beats, which say
// that the other watchdog runs, and failures, which both of them are to know. Never blocks.
//
// A message is a type, a status without its sign, the length of a text in two bytes, and the text.
// Anything else ends the connection: incoming data is not trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collectives/common/call.hpp"
#include "collectives/watch/unshared.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

class Pulse {
  public:
    static constexpr std::size_t kMostText = 511;  // the room in a node's failure

    // A stream socket.
    explicit Pulse(sys::UniqueFd fd);

    enum class State {
        open,
        ended,   // the other process has closed it, or has ended
        silent,  // the other machine does not answer
    };
    State state() const { return state_; }
    int fd() const { return fd_.get(); }            // none when it is not open
    std::uint64_t heard() const { return heard_; }  // messages that have come in
    bool has_more_to_say() const { return !out_.empty(); }

    void beat();
    void tell(const Failure& failure);  // its text is cut off where it is too long
    // Reads and writes without waiting. Returns a failure that the other side has reported.
    std::optional<Failure> step();
    // Sends no more; messages sent before still arrive.
    void say_no_more();

  private:
    void say(std::uint8_t type, std::uint8_t status, const std::string& text);
    void write();
    void read();
    std::optional<Failure> take();
    void end(State state);
    void end_by(int error);

    sys::UniqueFd fd_;
    std::unique_ptr<Unshared> unshared_;  // for as long as it is open
    State state_ = State::open;
    std::string in_, out_;
    std::uint64_t heard_ = 0;
};

}  // namespace batchai::coll
