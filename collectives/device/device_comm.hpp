// SPDX-License-Identifier: Apache-2.0
//
// DeviceCommunicator: operations on device memory between all ranks of a communicator, one after
// another in the order of their start. There is no thread: progress is made in test() and wait().
//
// In each call the ranks first meet in the communicator's own engine, which finds ranks that call
// another operation or do not arrive. Afterwards the engine is asked for other failures of the job.
// Ways have engines of their own.
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

    // Collective: an error on one rank is an error on all. gpu: an error says why this rank has
    // none.
    static sys::Result<std::unique_ptr<DeviceCommunicator>> create(Communicator& comm,
                                                                   sys::Result<Gpu> gpu);
    ~DeviceCommunicator();
    DeviceCommunicator(const DeviceCommunicator&) = delete;
    DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

    // Collective: returns when all ranks have called it and their devices have done everything.
    // Not after a failure.
    Failure close();

    // Whether a call may be captured into a graph, which later runs without the host.
    bool can_be_captured(const DeviceCall& call) const {
        return call.signature.kind == Kind::allreduce && ways_->capturable() != nullptr;
    }
    // Waits, for two seconds at most, for the end of graphs that contain calls: sometimes they end
    // a little after they are destroyed. False: some are left; do not close the communicator.
    bool outlasts_graphs() const;
    // Only while there is no failure. Copies the call's counts.
    Request* start(const DeviceCall& call);
    // IN_PROGRESS comes from test only; otherwise the request has ended and is gone.
    batchai_coll_status test(Request* request);
    batchai_coll_status wait(Request* request);
    // Whether the last test has made progress.
    bool has_moved() const { return moved_; }

    // The number of requests that have not ended; whether the stream has some that are not
    // captured.
    std::size_t under_way() const { return line_.size(); }
    bool has_uncaptured(Device::Stream stream) const {
        return std::any_of(line_.begin(), line_.end(), [stream](const Request* request) {
            return request->call.stream == stream && !request->call.signature.captured;
        });
    }
    // The communicator's. Its status is OK while all is well.
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
    std::shared_ptr<void> graphs_ = std::make_shared<int>();  // which graphs with calls have, too

    std::deque<Request> requests_;  // all that there are
    std::vector<Request*> unused_;
    std::deque<Request*> line_;       // the first one is under way
    DeviceOperation* way_ = nullptr;  // that it takes; null: it has not begun
    bool ordered_ = false;            // it has been, to its end
    bool closed_ = false;             // all is well and has ended
    bool moved_ = false;
    std::optional<std::chrono::steady_clock::time_point> idle_since_;
};

}  // namespace batchai::coll
