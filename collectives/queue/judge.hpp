// SPDX-License-Identifier: Apache-2.0
//
// Judge: what becomes of lines that differ. Pure; every rank judges the same lines and comes to the
// same verdicts. What stands in all lines is started in the order of the first one, or fails where
// ranks describe it differently. Where every rank is stuck, because its caller waits for something
// that is not in all lines, and nothing can be started, nothing ever will be: all of it fails.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::coll {

// What a rank has in line, as the others get it.
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

// A rank that has joined has no more to submit: it takes part in sums and averages with zeros, and
// everything else fails that others would do without it. When all have joined, the joins start.
struct Verdict {
    std::string key;       // of one rank at least
    std::string sentence;  // why it fails; empty: it is started
};

// lines: by rank. numbers: what the ranks are called. Verdicts are in the order in which to follow
// them, one for a key; other keys stay in line.
std::vector<Verdict> judge(const std::vector<Line>& lines, const std::vector<int>& numbers);

// Of ranks that have all joined: the last one to do so.
int last_to_join(const std::vector<Line>& lines);

// Who has not submitted what others have: "allreduce.a: not submitted by ranks 1, 3; ...". Empty:
// everybody has submitted everything.
std::string describe_stall(const std::vector<Line>& lines, const std::vector<int>& numbers);

}  // namespace batchai::coll
