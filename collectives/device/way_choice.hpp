// SPDX-License-Identifier: Apache-2.0
//
// WayChoice: chooses the way of an allreduce of device memory by the size of the message. Each way
// is timed once, on all ranks together. The slowest rank's time counts, so all ranks choose the
// same way.
#pragma once

#include <string>
#include <vector>

#include "collectives/device/device_ways.hpp"

namespace batchai::coll {

class WayChoice {
  public:
    // Collective: an error on one rank is an error on all. The ways must outlive the WayChoice.
    static sys::Result<WayChoice> measure(Communicator& comm, DeviceWays& ways);

    DeviceOperation& way_for(const DeviceCall& call) const;
    // The choices and their measured times, as text.
    const std::string& plan() const { return plan_; }

  private:
    explicit WayChoice(DeviceWays& ways) : ways_(&ways) {}
    void take_fastest(const std::vector<double>& times);

    // The way for messages of at most so many bytes; the last choice is for all longer ones.
    struct Choice {
        std::size_t bytes, way;
    };

    DeviceWays* ways_;
    std::vector<Choice> choices_;
    std::string plan_;
};

}  // namespace batchai::coll
