// SPDX-License-Identifier: Apache-2.0
//
// Limits: how long a rank or node may be unreachable or stopped before that is an error. The user
// sets them in BATCHAI_COLL_WATCH: "process=2,node=5,stall=30", in seconds; 0 is never. A limit
// that is not named keeps its default. Pure, except that it reads the environment.
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
    Milliseconds stall{30000};   // a rank's process exists and does not run

    bool operator==(const Limits&) const = default;
    // Whether all limits are off.
    bool none() const { return process.count() + node.count() + stall.count() == 0; }
    // The interval between checks, short enough to lengthen no limit by much.
    Milliseconds interval() const;
    // A rank's silence becomes an error a little before the stall limit, so that all other ranks
    // know in time.
    Milliseconds silence() const { return stall * 19 / 20; }
};

sys::Result<Limits> parse_limits(std::string_view text);
// Without the variable, returns the defaults.
sys::Result<Limits> limits_from_environment();

}  // namespace batchai::coll
