// SPDX-License-Identifier: Apache-2.0
//
// DeviceCommunicator: operations on device memory between all ranks of a communicator, one after
// another in the order of their start. It has no thread: test() and wait() make progress.
//
// In each call the ranks first meet in the communicator's own engine, which finds ranks that call
// another operation or do not arrive. After the meeting, the engine is checked for other failures
// of the job. Ways have their own engines.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/device/way_choice.hpp"

namespace batchai::coll {

class DeviceCommunicator {
  public:
    // Valid until test or wait has reported its end.
    struct Request {
        DeviceCommunicator* owner = nullptr;
        DeviceCall call;
        std::vector<std::size_t> counts, receive_counts;  // the call's
        batchai_coll_status status = BATCHAI_COLL_IN_PROGRESS;
        Engine::Request* meeting = nullptr;
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

    // Whether a call may be captured into a graph, which later runs without the host.
    bool can_be_captured(const DeviceCall& call) const {
        return call.signature.kind == Kind::allreduce && ways_->capturable() != nullptr;
    }
    // Waits, at most two seconds, for the end of graphs that contain calls: they may end a little
    // after they are destroyed. False: some graphs are left; do not close the communicator.
    bool outlasts_graphs() const;
    // Must not be called after a failure. Copies the call's counts.
    Request* start(const DeviceCall& call);
    // Only test returns IN_PROGRESS; otherwise the request has ended and is deleted.
    batchai_coll_status test(Request* request);
    batchai_coll_status wait(Request* request);
    // Whether the last test() made progress.
    bool has_moved() const { return moved_; }

    // under_way: requests that have not ended. has_uncaptured: whether some of the stream's are not
    // captured.
    std::size_t under_way() const { return line_.size(); }
    bool has_uncaptured(Device::Stream stream) const {
        return std::any_of(line_.begin(), line_.end(), [stream](const Request* request) {
            return request->call.stream == stream && !request->call.signature.captured;
        });
    }
    // The communicator's failure. Its status is OK as long as there is none.
    const Failure& failure() const { return comm_.engine().failure(); }
    Device& device() const { return ways_->device(); }
    int rank() const { return comm_.topology().rank; }
    int ranks() const { return comm_.topology().size; }
    const std::string& plan() const { return choice_.plan(); }

  private:
    DeviceCommunicator(Communicator& comm, std::unique_ptr<DeviceWays> ways, WayChoice choice)
        : comm_(comm), ways_(std::move(ways)), choice_(std::move(choice)) {}

    bool has_graphs() const { return graphs_.use_count() > 1; }
    Step advance();
    void look();
    void finish(StreamComm& comm);
    void end_first(batchai_coll_status status);
    void end_all(batchai_coll_status status);
    batchai_coll_status conclude(Request* request);

    Communicator& comm_;
    std::unique_ptr<DeviceWays> ways_;
    WayChoice choice_;
    std::shared_ptr<void> graphs_ = std::make_shared<int>();  // graphs with calls share it

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
