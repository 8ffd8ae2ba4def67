// SPDX-License-Identifier: Apache-2.0
//
// Pulse: one end of the connection between the watchdogs of two nodes. It carries beats, which show
// that the other watchdog runs, and failures. Never blocks.
//
// A message is a type, a status without its sign, the length of a text in two bytes, and the text.
// Any other data ends the connection, because incoming data is not trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collectives/common/call.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// Unshared: while it exists, children of fork() do not keep a copy of a descriptor. With a copy in
// a child, a connection would outlive its process, and the other side would not see it end.
class Unshared {
  public:
    explicit Unshared(int fd);
    Unshared(const Unshared&) = delete;
    Unshared& operator=(const Unshared&) = delete;
    ~Unshared();

  private:
    int fd_;
};

class Pulse {
  public:
    static constexpr std::size_t kMostText = 511;  // as long as a node's failure (shm.hpp)

    // fd: a stream socket.
    explicit Pulse(sys::UniqueFd fd);

    enum class State {
        open,
        ended,   // the other process has closed the connection, or has ended
        silent,  // the other machine does not answer
    };
    State state() const { return state_; }
    int fd() const { return fd_.get(); }            // -1 unless open
    std::uint64_t heard() const { return heard_; }  // received messages
    bool has_more_to_say() const { return !out_.empty(); }

    void beat();
    void tell(const Failure& failure);  // a text that is too long is cut off
    // Reads and writes without waiting. Returns a failure that the other side has reported.
    std::optional<Failure> step();
    // Stops sending; messages that were sent before still arrive.
    void say_no_more();

  private:
    void say(std::uint8_t type, std::uint8_t status, const std::string& text);
    void write();
    void read();
    std::optional<Failure> take();
    void end(State state);
    void end_by(int error);

    sys::UniqueFd fd_;
    std::unique_ptr<Unshared> unshared_;  // exists while the connection is open
    State state_ = State::open;
    std::string in_, out_;
    std::uint64_t heard_ = 0;
};

}  // namespace batchai::coll
