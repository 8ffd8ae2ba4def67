// SPDX-License-Identifier: Apache-2.0
//
// Limits: how long what is not well may last until it is an error, as the user says in
// BATCHAI_COLL_WATCH: "process=2,node=5,stall=30", each of them seconds or 0 for never. What is not
// named keeps its default. Pure but for the environment.
#pragma once

#include <chrono>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::coll {

inline constexpr char kWatchVariable[] = "BATCHAI_COLL_WATCH";

struct Limits {
    using Milliseconds = std::chrono::milliseconds;

    Milliseconds process{2000};  // a rank's process has ended
    Milliseconds node{5000};     // a node does not answer
    Milliseconds stall{30000};   // a rank's process is there, but does not run

    bool operator==(const Limits&) const = default;
    // Nothing is watched.
    bool none() const { return process.count() + node.count() + stall.count() == 0; }
    // How often to look, so that looking does not make any of them much longer.
    Milliseconds interval() const;
    // How long nothing has to be heard of a rank: a little less, as all others are to know in time.
    Milliseconds silence() const { return stall * 19 / 20; }
};

sys::Result<Limits> parse_limits(std::string_view text);
// The defaults where the variable is not set.
sys::Result<Limits> limits_from_environment();

}  // namespace batchai::coll
