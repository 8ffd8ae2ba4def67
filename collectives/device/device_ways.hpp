// SPDX-License-Identifier: Apache-2.0
//
// DeviceWays: the ways of carrying out a call that the devices of all ranks have together, and
// everything that those own: the rails' communicators, NCCL's communicators, the exchanges inside
// the node. Which one is taken for a call is another class's choice (way_choice.hpp).
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

// What a rank has to take part with.
struct Gpu {
    std::shared_ptr<Device> device;
    std::shared_ptr<StreamComms> comms;  // how devices exchange data by themselves; null: not
};

class DeviceWays {
  public:
    // Collective: an error on one rank is an error on all. gpu: or why this rank has none.
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
    // Why parts do not go from GPU to GPU, for people; empty: nothing failed.
    const std::string& no_direct() const { return no_direct_; }

    // Why a step of the way has failed. Of this rank's device the others know nothing, so it says
    // whose that is.
    Failure failure_of(const DeviceOperation& way, const std::string& doing) const;

    // Those of the node and of all ranks; null: there is none. Each is finished before close().
    std::array<StreamComm*, 2> stream_comms() const { return {node_comm_.get(), all_comm_.get()}; }
    // Collective. Errors are the communicator's failure.
    void close();
    // Ends everything at once, also what is under way. Waits for it at most so long.
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
