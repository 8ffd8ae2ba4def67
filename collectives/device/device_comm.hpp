// SPDX-License-Identifier: Apache-2.0
//
// DeviceCommunicator: allreduces of device memory between all ranks of a communicator, one after
// another in the order of their start. It has no thread: test() and wait() make progress.
//
// In each call the ranks first meet in the communicator's own engine, which finds ranks that call
// another operation or do not arrive. After the agreement, the engine is checked for other failures
// of the job. Ways have their own engines.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/device/device_ways.hpp"

namespace batchai::coll {

class DeviceCommunicator {
  public:
    // Valid until test or wait has reported its end.
    struct Request {
        DeviceCall call;
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        Engine::Request* agreement = nullptr;
    };

    // Collective: an error on one rank is an error on all. gpu: this rank's GPU, or the error why
    // it has none.
    static sys::Result<std::unique_ptr<DeviceCommunicator>> create(Communicator& comm,
                                                                   sys::Result<Gpu> gpu);
    ~DeviceCommunicator();
    DeviceCommunicator(const DeviceCommunicator&) = delete;
    DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

    // Collective: returns when all ranks have called it and their devices have executed everything.
    // Do not call it after a failure.
    Failure close();

    // Must not be called after a failure.
    Request* start(const DeviceCall& call);
    // Only test returns IN_PROGRESS; otherwise the request has ended and is deleted.
    batchai_coll_status test(Request* request);
    batchai_coll_status wait(Request* request);
    // Whether the last test() made progress.
    bool has_moved() const { return moved_; }

    // The communicator's failure. Its status is OK as long as there is none.
    const Failure& failure() const { return comm_.engine().failure(); }
    Device& device() const { return ways_->device(); }
    int rank() const { return comm_.topology().rank; }
    int ranks() const { return comm_.topology().size; }
    const std::string& plan() const { return choice_.plan(); }

  private:
    DeviceCommunicator(Communicator& comm, std::unique_ptr<DeviceWays> ways, WayChoice choice)
        : comm_(comm), ways_(std::move(ways)), choice_(std::move(choice)) {}

    Step advance();
    void look();
    void finish(StreamComm& comm);
    void end_first(batchai_coll_status status);
    void end_all(batchai_coll_status status);
    batchai_coll_status conclude(Request* request);

    Communicator& comm_;
    std::unique_ptr<DeviceWays> ways_;
    WayChoice choice_;
    std::deque<Request> requests_;  // all requests, used or not
    std::vector<Request*> unused_;
    std::deque<Request*> line_;       // the first one is in progress
    DeviceOperation* way_ = nullptr;  // the way of the first request; null: it has not begun
    bool ordered_ = false;            // the way has given all its orders
    bool closed_ = false;             // close() has succeeded
    bool moved_ = false;
    std::optional<std::chrono::steady_clock::time_point> idle_since_;
};

}  // namespace batchai::coll
