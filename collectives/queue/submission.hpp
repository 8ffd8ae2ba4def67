// SPDX-License-Identifier: Apache-2.0
//
// Submission: an operation that a caller has handed to the queue under a name. Ranks submit the
// same ones in any order; `key` is what has to agree for two of them to be the same: what the
// operation does, how urgent it is, and the name. Without a name it has a number instead, which is
// for people: those that are the same otherwise belong together in the order of submission.
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

// What only the caller can do, on the queue's thread: with whatever it wants of the communicator.
// Returns 0, or it has failed.
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
    int id = -1;                                  // what all ranks know it by; -1: they do not
    std::uint64_t book = 0;                       // of the response cache that says so
    Submission* next_alike = nullptr;             // in line after it, of the same id
    bool in_line = false;

    // The queue's, guarded by its lock.
    State state = State::in_line;
    Failure failure;
    bool has_ticket = false;  // its end has not been reported
    bool is_kept = false;     // by its name, for the next time
    int waiters = 0;          // callers, and one that has asked too often
    int asked = 0;

    std::string_view name() const;
    bool on_device() const { return mark != nullptr; }
};

// Whether another submission of its name has the same key.
bool repeats(const Submission& last, std::span<const Part> parts, bool on_device, int priority,
             std::string_view text);
// Writes the key. text: what else has to agree, in words.
void set_key(Submission& submission, std::string_view name, std::string_view text);
// A key's parts: the name, and the rest, for people: "allreduce (sum) of 6 float32 [2, 3]".
std::string_view name_of(std::string_view key);
std::string describe_key(std::string_view key);
// What is the same for operations that belong together.
std::string_view identity_of(std::string_view key);
bool is_named(std::string_view key);
bool is_join(std::string_view key);
// Whether a rank that has joined can take part with zeros: in sums and averages in host memory.
bool takes_zeros(std::string_view key);
// What such a rank takes part with: zeros, which the result replaces.
struct Zeros {
    Submission submission;
    std::vector<std::vector<std::byte>> memory;  // of each part
};
Zeros zeros_for(std::string_view key);

std::uint64_t hash_of(std::string_view key);

}  // namespace batchai::coll
