// SPDX-License-Identifier: Apache-2.0
//
// Judge: decides which operations start and which fail if the ranks' lines differ. Pure: every rank
// judges the same lines and comes to the same verdicts. An operation in all lines starts, in the
// order of the first line. It fails if ranks describe it differently. If no operation can start and
// every rank is stuck, because its caller waits for an operation that is not in all lines, then all
// operations fail.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::coll {

// The operations that a rank has in line, as sent to the others.
struct Line {
    bool stuck = false;             // its caller waits for some of it, or the rank leaves
    bool closing = false;           // the rank leaves
    std::vector<std::string> keys;  // in the order of submission
    std::uint64_t seen = 0;         // of a rank that has joined: rounds with verdicts since then

    bool has_joined() const;

    bool operator==(const Line&) const = default;
    // For sys/codec.hpp, by which ranks exchange their lines.
    template <class Archive>
    void fields(Archive& archive) {
        archive(stuck, closing, seen, keys);
    }
};

// A rank that has joined has no more to submit. It takes part with zeros in the others' sums and
// averages; their other operations fail. When all ranks have joined, the joins start.
struct Verdict {
    std::string key;       // of one rank at least
    std::string sentence;  // why it fails; empty: it is started
};

// lines: by rank. numbers: the ranks' numbers in messages. Returns one verdict for a key, in the
// order in which to carry them out; other keys stay in line.
std::vector<Verdict> judge(const std::vector<Line>& lines, const std::vector<int>& numbers);

// Of ranks that have all joined: the last one to do so.
int last_to_join(const std::vector<Line>& lines);

// The ranks that have not submitted an operation of others: "allreduce.a: not submitted by ranks 1,
// 3; ...". Empty: no operation is missing.
std::string describe_stall(const std::vector<Line>& lines, const std::vector<int>& numbers);

}  // namespace batchai::coll
