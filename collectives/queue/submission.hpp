// SPDX-License-Identifier: Apache-2.0
//
// Submission: an operation that a caller has handed to the queue under a name. Ranks submit the
// same operations in any order. Submissions of two ranks belong together if their `key` is equal:
// the name, the operation and its priority. A submission without a name has a number instead. Such
// submissions with equal operations belong together in the order of submission. If all ranks wait,
// and their first ones have the same number and differ, the ranks disagree.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

// The caller's own operation. The thread that drives the queue calls it. It may use the
// communicator. Returns 0 on success.
using Run = int (*)(void* argument);

struct Submission {
    enum class State : std::uint8_t { pending, started, ended };

    std::string key;
    std::vector<Part> parts;  // empty: call `run`
    Run run = nullptr;
    void* argument = nullptr;
    // For parts in GPU memory (device_messages.hpp): the event after which the GPU has them, and
    // the stream in which it was recorded. Null: the parts are in host memory.
    Device::Event mark = nullptr;
    Device::Stream stream = nullptr;
    int priority = 0;
    bool named = true;  // false: a number takes the place of the name
    bool join = false;  // the rank submits no more until all ranks have joined; argument: an int*
                        // for the last rank
    std::uint64_t hash = 0;  // of the key's identity

    // Used by the dispatcher.
    std::chrono::steady_clock::time_point since;  // when it became pending
    std::uint64_t order = 0;                      // order of submission
    int id = -1;                                  // number in the response cache; -1: none
    std::uint64_t book = 0;                       // the response cache's book_ that id belongs to
    Submission* next_alike = nullptr;             // the next pending one with the same id
    bool pending = false;

    // Used by the queue, guarded by its lock.
    State state = State::pending;
    Failure failure;
    bool has_ticket = false;  // its end was not reported to the caller yet
    bool is_kept = false;     // kept under its name for the next submission
    int waiters = 0;          // callers that wait; a caller that tests too often counts
    int asked = 0;

    std::string_view name() const;
    bool on_device() const { return mark != nullptr; }
};

// Whether a new submission has the same key as the last one with its name.
bool repeats(const Submission& last, std::span<const Part> parts, bool on_device, int priority,
             std::string_view text);
// Writes the key. text: must agree on all ranks too.
void set_key(Submission& submission, std::string_view name, std::string_view text);
// The parts of a key: the name, and the rest as text: "allreduce (sum) of 6 float32 [2, 3]".
std::string_view name_of(std::string_view key);
std::string describe_key(std::string_view key);
// The part of a key that is equal for submissions that belong together.
std::string_view identity_of(std::string_view key);
bool is_named(std::string_view key);
bool is_join(std::string_view key);
// Whether a rank that has joined can take part with zeros: only in sums and averages in host
// memory.
bool takes_zeros(std::string_view key);
// The zeros of such a rank. The result overwrites them.
struct Zeros {
    Submission submission;
    std::vector<std::vector<std::byte>> memory;  // by part
};
Zeros zeros_for(std::string_view key);

std::uint64_t hash_of(std::string_view key);
std::size_t bytes_of(std::span<Submission* const> submissions);

// ResponseCache: gives each operation that all ranks have seen a number, the same on all ranks, so
// that one byte in a message represents it. All ranks add the same operations in the same order.
class ResponseCache {
  public:
    explicit ResponseCache(std::size_t capacity) : capacity_(capacity) {}

    // Whether so many more keys fit. If not, the caller must first forget all keys with clear().
    bool has_room_for(std::size_t keys) const { return size() + keys <= capacity_; }
    std::size_t size() const { return keys_.size(); }
    std::size_t capacity() const { return capacity_; }
    void clear();

    void add(std::string_view identity);
    // Sets the submission's number; -1: its key is not in the cache.
    void identify(Submission& submission) const;

    // Names that several operations share, because the shape of a tensor changes: the number of
    // such names, and the index of an operation's name. -1: only this operation has the name.
    std::size_t shared_names() const { return shared_names_; }
    int shared_name(int id) const { return keys_[static_cast<std::size_t>(id)].shared_name; }

  private:
    struct Key {
        std::uint64_t hash;
        std::string_view text;
        bool operator==(const Key& other) const { return text == other.text; }
    };
    struct Hash {
        std::size_t operator()(const Key& key) const { return key.hash; }
    };

    struct Entry {
        std::unique_ptr<std::string> key;  // its address does not change
        int shared_name = -1;
    };

    std::size_t capacity_;
    std::uint64_t book_ = 1;   // incremented by clear()
    std::vector<Entry> keys_;  // by id
    std::unordered_map<Key, int, Hash> ids_;
    std::unordered_map<std::string_view, int> first_of_name_;  // id by name
    std::size_t shared_names_ = 0;
};

}  // namespace batchai::coll
