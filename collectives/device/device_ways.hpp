// SPDX-License-Identifier: Apache-2.0
//
// DeviceWays: the ways in which the devices of all ranks can carry out a call. It owns the parts of
// all ways: the communicators of rails, NCCL's communicators, and the exchanges inside the node.
// way_choice.hpp chooses the way for a call.
//
// Belongs to the thread that makes the communicator's progress.
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
#include "collectives/device/rail_exchange.hpp"
#include "collectives/transport/shm.hpp"

namespace batchai::coll {

// The means with which a rank takes part.
struct Gpu {
    std::shared_ptr<Device> device;
    std::shared_ptr<StreamComms> comms;  // how devices exchange data by themselves; null: not
};

class DeviceWays {
  public:
    // Collective: an error on one rank is an error on all. gpu: an error says why this rank has
    // none.
    static sys::Result<std::unique_ptr<DeviceWays>> make(Communicator& comm, sys::Result<Gpu> gpu);
    // After close() or abort().
    ~DeviceWays();
    DeviceWays(const DeviceWays&) = delete;
    DeviceWays& operator=(const DeviceWays&) = delete;

    Device& device() const { return *device_; }
    Orders& orders() { return *orders_; }
    // The last one goes through the host, and is the only one for other calls than allreduces.
    const std::vector<std::unique_ptr<DeviceOperation>>& all() const { return ways_; }
    // The one that takes captured calls; null: none.
    DeviceOperation* capturable() const { return capturable_; }
    // Why parts do not go from GPU to GPU, for the plan; empty: no failure.
    const std::string& no_direct() const { return no_direct_; }

    // Why a step of the way has failed. It names the rank if its device failed: the other ranks
    // cannot know that.
    Failure failure_of(const DeviceOperation& way, const std::string& doing) const;

    // NCCL's communicators of the node and of all ranks; null: none. Finish both before close().
    std::array<StreamComm*, 2> stream_comms() const { return {node_comm_.get(), all_comm_.get()}; }
    // Collective. Errors are the communicator's failure.
    void close();
    // Ends everything at once, also work under way. Waits for that for at most `patience`.
    static constexpr std::chrono::seconds kPatience{5};
    void abort(std::chrono::seconds patience = kPatience);

  private:
    class Builder;

    explicit DeviceWays(Communicator& comm) : comm_(comm) {}
    void end(std::unique_ptr<Communicator>& part, const Failure& failure);

    Communicator& comm_;
    std::shared_ptr<Device> device_;
    std::optional<Orders> orders_;
    // Of equal local ranks, through pinned memory and from device to device; of all.
    std::unique_ptr<Communicator> rail_, direct_, host_;
    std::unique_ptr<StreamComm> node_comm_, all_comm_;
    std::optional<Segment> counts_;     // of the node's SharedExchange
    std::vector<std::byte*> memories_;  // of exchanges, by local rank
    std::vector<std::unique_ptr<NodeExchange>> node_exchanges_;
    std::vector<std::unique_ptr<RailExchange>> rail_exchanges_;
    std::vector<std::unique_ptr<DeviceOperation>> ways_;
    DeviceOperation* capturable_ = nullptr;
    std::string no_direct_;
};

}  // namespace batchai::coll
