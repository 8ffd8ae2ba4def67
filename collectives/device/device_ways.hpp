// SPDX-License-Identifier: Apache-2.0
//
// DeviceWays: the ways in which the devices of all ranks can execute a call. It owns the parts of
// all ways: the communicators of rails, NCCL's communicators, and the exchanges inside the node.
// WayChoice chooses the way for a call.
//
// Only the thread that makes the communicator's progress may use it.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm/comm.hpp"
#include "collectives/device/device_operation.hpp"
#include "collectives/device/node_exchange.hpp"
#include "collectives/device/orders.hpp"
#include "collectives/device/pinned_rail.hpp"
#include "collectives/transport/shm.hpp"

namespace batchai::coll {

// The GPU of a rank, and what it can use.
struct Gpu {
    std::shared_ptr<Device> device;
    std::shared_ptr<StreamComms> comms;  // direct exchange between devices; null: none
};

class DeviceWays {
  public:
    // Collective: an error on one rank is an error on all. gpu: this rank's GPU, or the error why
    // it has none.
    static sys::Result<std::unique_ptr<DeviceWays>> make(Communicator& comm, sys::Result<Gpu> gpu);
    // Call close() or abort() first.
    ~DeviceWays();
    DeviceWays(const DeviceWays&) = delete;
    DeviceWays& operator=(const DeviceWays&) = delete;

    Device& device() const { return *device_; }
    Orders& orders() { return *orders_; }
    // The last way goes through the host.
    const std::vector<std::unique_ptr<DeviceOperation>>& all() const { return ways_; }

    // The reason why a step of the way has failed. If this rank's device failed, it names the rank,
    // because the other ranks cannot know it.
    Failure failure_of(const DeviceOperation& way, const std::string& doing) const;

    // NCCL's communicators of the node and of all ranks; null: none. Finish both before close().
    std::array<StreamComm*, 2> stream_comms() const { return {node_comm_.get(), all_comm_.get()}; }
    // Collective. An error becomes the communicator's failure.
    void close();
    // Ends everything at once, also pending work. Waits for that at most some seconds.
    void abort();

  private:
    class Builder;

    explicit DeviceWays(Communicator& comm) : comm_(comm) {}
    void end(std::unique_ptr<Communicator>& part, const Failure& failure);

    Communicator& comm_;
    std::shared_ptr<Device> device_;
    std::optional<Orders> orders_;
    std::unique_ptr<Communicator> rail_, host_;  // ranks with equal local ranks; all ranks
    std::unique_ptr<StreamComm> node_comm_, all_comm_;
    std::optional<Segment> counts_;     // the segment of the node's SharedExchange
    std::vector<std::byte*> memories_;  // memory of SharedExchange, by local rank
    std::vector<std::unique_ptr<NodeExchange>> node_exchanges_;
    std::vector<std::unique_ptr<PinnedRail>> pinned_rails_;
    std::vector<std::unique_ptr<DeviceOperation>> ways_;
};

// WayChoice: chooses the way of an allreduce of device memory by the size of the message. Each way
// is timed once, on all ranks together. The slowest rank's time counts, so all ranks choose the
// same way.
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
