// SPDX-License-Identifier: Apache-2.0
//
// Submission: an operation that a caller has handed to the queue under a name. Ranks submit the
// same operations in any order. Submissions of two ranks belong together if their `key` is equal:
// the name, the operation and its priority. A submission without a name has a number instead:
// equal ones belong together in the order of submission. If all ranks wait, and their first ones
// have the same number and differ, the ranks disagree.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/common/call.hpp"
#include "collectives/device/device.hpp"

namespace batchai::coll {

// A tensor of an allreduce.
struct Part {
    Signature signature;
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
};

std::size_t bytes_of(std::span<const Part> parts);

// The caller's own operation, called on the thread that drives the queue. It may use the
// communicator. Returns 0 on success.
using Run = int (*)(void* argument);

struct Submission {
    enum class State : std::uint8_t { in_line, started, ended };

    std::string key;
    std::vector<Part> parts;  // none: `run`
    Run run = nullptr;
    void* argument = nullptr;
    // The event after which a GPU has its parts, in its memory (device_messages.hpp), and the
    // stream that it was recorded in. Null: they are in the host's.
    Device::Event mark = nullptr;
    Device::Stream stream = nullptr;
    int priority = 0;
    bool named = true;       // by the caller; else by a number
    bool join = false;       // the rank has no more to submit until all say so; argument: an int*
    std::uint64_t hash = 0;  // of the key's identity

    // The dispatcher's.
    std::chrono::steady_clock::time_point since;  // it is in line
    std::uint64_t order = 0;                      // of submission
    int id = -1;                                  // its number on all ranks; -1: it has none
    std::uint64_t book = 0;                       // of the response cache that says so
    Submission* next_alike = nullptr;             // in line after it, of the same id
    bool in_line = false;

    // The queue's, guarded by its lock.
    State state = State::in_line;
    Failure failure;
    bool has_ticket = false;  // its end has not been reported
    bool is_kept = false;     // by its name, for the next time
    int waiters = 0;          // callers that wait, and one that tests too often
    int asked = 0;

    std::string_view name() const;
    bool on_device() const { return mark != nullptr; }
};

// Whether another submission of its name has the same key.
bool repeats(const Submission& last, std::span<const Part> parts, bool on_device, int priority,
             std::string_view text);
// Writes the key. text: must agree on all ranks too.
void set_key(Submission& submission, std::string_view name, std::string_view text);
// A key's parts: the name, and the rest as text: "allreduce (sum) of 6 float32 [2, 3]".
std::string_view name_of(std::string_view key);
std::string describe_key(std::string_view key);
// The part of a key that is equal for operations that belong together.
std::string_view identity_of(std::string_view key);
bool is_named(std::string_view key);
bool is_join(std::string_view key);
// Whether a rank that has joined can take part with zeros: in sums and averages in host memory.
bool takes_zeros(std::string_view key);
// The zeros that such a rank takes part with. The result replaces them.
struct Zeros {
    Submission submission;
    std::vector<std::vector<std::byte>> memory;  // of each part
};
Zeros zeros_for(std::string_view key);

std::uint64_t hash_of(std::string_view key);

}  // namespace batchai::coll
