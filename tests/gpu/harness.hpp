// SPDX-License-Identifier: Apache-2.0
//
// What a test of GPUs is: a name and a function that throws what is wrong, or Skipped. The program
// itself never touches CUDA, which does not survive a fork: a test runs in processes of its own,
// each of which is a rank (processes.hpp).
//
// No test framework, as machines with GPUs may have none, and nothing can be fetched there.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "processes.hpp"

namespace batchai::coll::gpu {

struct Skipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Test {
    std::string name;
    bool brief;  // it is part of a short run, as under compute-sanitizer
    std::function<void()> run;
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

// A file's tests, by an object of this.
struct Registered {
    Registered(std::string name, bool brief, std::function<void()> run) {
        tests().push_back({std::move(name), brief, std::move(run)});
    }
};

// What the program finds out before it runs any test.
struct Machine {
    int gpus = 0;
    bool brief = false;  // a short run
};
inline Machine& machine() {
    static Machine found;
    return found;
}

// Asks CUDA for the number of GPUs, in a process of its own. Returns why there is none; else empty.
std::string look_for_gpus();

// body(rank, board) in a process for each rank of nodes of so many ranks. last: how the last one is
// to end. Throws what they have found; a rank that throws Skipped skips the test.
inline void run_ranks(const std::vector<int>& nodes,
                      const std::function<void(int rank, Board& board)>& body,
                      const std::string& last = "") {
    const std::string skipped = "skipped: ";
    Processes processes(nodes);
    const auto ends = processes.run([&](int rank, Board& board) -> std::string {
        try {
            body(rank, board);
        } catch (const Skipped& why) {
            return skipped + why.what();
        }
        return "";
    });
    std::string wrong, why_skipped;
    for (std::size_t r = 0; r < ends.size(); ++r) {
        const std::string wanted = r + 1 == ends.size() ? last : "";
        if (ends[r] == wanted) continue;
        if (ends[r].rfind(skipped, 0) == 0) {
            why_skipped = ends[r].substr(skipped.size());
            continue;
        }
        wrong += (wrong.empty() ? "rank " : "; rank ") + std::to_string(r) + ": " +
                 (ends[r].empty() ? "has ended well" : ends[r]);
    }
    if (!wrong.empty()) throw std::runtime_error(wrong);
    if (!why_skipped.empty()) throw Skipped(why_skipped);
}

// The same, but that the last rank kills itself.
inline void run_ranks_and_lose_one(const std::vector<int>& nodes,
                                   const std::function<void(int rank, Board& board)>& body) {
    run_ranks(nodes, body, "signal 9");
}

}  // namespace batchai::coll::gpu
