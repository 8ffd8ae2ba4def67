// SPDX-License-Identifier: Apache-2.0
//
// The protocol PMI-1: takes a line of a rank and returns the answer. It follows Flux RFC 13, whose
// reference is MPICH's Hydra. It uses no descriptors and no processes, so that a test can cover
// every line.
//
// It does not support spawning or publishing names: it answers such requests with an error. A
// request to spawn is an event too, because MPI libraries would wait for the new processes for
// ever.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace batchai::launcher::pmi1 {

// The longest line, without its end. A client of MPICH 4.0 sends at most 1,023 bytes.
inline constexpr std::size_t kMaxLine = 4096;

// The facts about the job that PMI-1 gives to its ranks.
struct Job {
    std::string name;  // name of the key-value space
    int size = 0;
    std::string mapping;  // PMI_process_mapping
};

// A node's copy of the keys that the ranks of a job have put. Ranks of this node see a key
// at once. Ranks of other nodes see it after the next barrier, which carries the new keys.
class Store {
  public:
    // False: ranks of this node have put too much. Keys and values must not contain a newline; keys
    // must not contain a space.
    bool put(std::string_view key, std::string_view value);
    // nullptr: the key is unknown.
    const std::string* get(std::string_view key) const;

    // Returns the keys that this node's ranks have put since the last call. The texts of several
    // nodes may be joined before merge().
    std::string take_new();
    void merge(std::string_view text);

    // Limit for the sum of all keys and values.
    static constexpr std::size_t kMaxBytes = 64 << 20;

  private:
    void set(std::string_view key, std::string_view value);

    std::map<std::string, std::string, std::less<>> values_;
    std::set<std::string, std::less<>> new_;
    std::size_t bytes_ = 0;
};

// The effect of a line: an event for the server, and the answer.
struct Reaction {
    enum class Event { none, joined, left, barrier, spawn, aborted, broken };
    Event event = Event::none;
    std::string answer;  // complete lines, or empty
    int code = 0;        // of aborted: the exit code
    std::string why;     // of broken: the rule of the protocol that the rank has broken
};

// One rank's side of the protocol. A rank sends one request and waits for its answer.
class Session {
  public:
    Session(const Job& job, Store& store) : job_(job), store_(store) {}

    // The line comes without its end.
    Reaction on_line(std::string_view line);

    // Whether the rank waits for the answer to its barrier.
    bool in_barrier() const { return in_barrier_; }
    std::string end_barrier(bool complete);

  private:
    std::string greeting(std::string_view line) const;
    Reaction init(std::string_view line);
    Reaction answer(std::string_view line, std::string_view command);
    std::string put(std::string_view line);
    std::string get(std::string_view line) const;
    Reaction spawn(std::string_view line);

    const Job& job_;
    Store& store_;
    bool joined_ = false, in_barrier_ = false;
    bool in_spawn_ = false;               // within a request of many lines
    std::string spawns_, spawns_so_far_;  // spawns_: how many spawn requests get one answer
};

}  // namespace batchai::launcher::pmi1
