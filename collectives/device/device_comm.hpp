// SPDX-License-Identifier: Apache-2.0
//
// DeviceCommunicator: operations on device memory between all ranks of a communicator: the ways of
// an allreduce that there are, which of them is the fastest for what size, and the calls under way,
// one after another in the order of their start. There is no thread: progress is made in test() and
// wait().
//
// Each call begins with a meeting of the ranks in the communicator's own engine, which finds those
// that call something else, or do not come; what else happens to the job meanwhile, the engine is
// asked for. Ways have engines of their own.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
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

    // Collective: an error on one rank is an error on all. gpu: or why this rank has none.
    static sys::Result<std::unique_ptr<DeviceCommunicator>> create(Communicator& comm,
                                                                   sys::Result<Gpu> gpu);
    ~DeviceCommunicator();
    DeviceCommunicator(const DeviceCommunicator&) = delete;
    DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

    // Collective: returns when all ranks have called it and their devices have done everything.
    // Not after a failure.
    Failure close();

    // Whether a call may be captured into a graph, which is done later without the host.
    bool can_be_captured(const DeviceCall& call) const {
        return call.kind == Kind::allreduce && capturable_ != nullptr;
    }
    // Waits, for two seconds at most, for the end of graphs that have calls: they end a little
    // after they are destroyed, at times. False: some are left, and this is not to be closed.
    bool outlasts_graphs() const;
    // Only while there is no failure. Copies the call's counts.
    Request* start(const DeviceCall& call);
    // Other than IN_PROGRESS, of test only: the request has ended and is gone.
    batchai_coll_status test(Request* request);
    batchai_coll_status wait(Request* request);
    // Whether the last test has done anything.
    bool has_moved() const { return moved_; }

    // Requests that have not ended; whether some of the stream are not captured.
    std::size_t under_way() const { return line_.size(); }
    bool has_uncaptured(Device::Stream stream) const {
        return std::any_of(line_.begin(), line_.end(), [stream](const Request* request) {
            return request->call.stream == stream && !request->call.captured;
        });
    }
    // The communicator's. Its status is OK while all is well.
    const Failure& failure() const { return comm_.engine().failure(); }
    Device& device() const { return *device_; }
    int rank() const { return comm_.topology().rank; }
    int ranks() const { return comm_.topology().size; }
    const std::string& plan() const { return plan_; }

  private:
    // What ranks tell each other as they open it, as bytes: why one of them cannot go on, if so.
    struct Word {
        char wrong[256] = {};
        void say(const std::string& why) { why.copy(wrong, sizeof wrong - 1); }
    };
    // What a rank has for the others.
    struct Card : Word {
        char identity[64] = {};
        Device::Handle memory = {};           // of its exchange
        char counts[128] = {};                // the path of the node's segment, of its first rank
        StreamComms::Id node = {}, all = {};  // of the first rank of the node and of all
        bool shares = false, has_comms = false;
    };
    // What it has found the others to have.
    struct Found : Word {
        bool memory = false, node_comm = false, all_comm = false;
    };
    // What its parts are like.
    struct Parts : Word {
        bool direct = false;  // the rail carries the device's memory
    };
    struct Trial {
        std::byte* memory;
        Device::Stream stream;
        Device::Event event;
    };

    // Whether its rail has carried numbers from device to device.
    struct Tried : Word {
        bool works = false;
        char why[256] = {};  // not
    };

    explicit DeviceCommunicator(Communicator& comm) : comm_(comm) {}

    // In device_setup.cpp.
    sys::Result<void> set_up(sys::Result<Gpu> gpu);
    Card card(sys::Result<Gpu> gpu);
    void offer_memory(Card& card);
    void offer_comms(Card& card);
    Found find(const std::vector<Card>& cards);
    bool open_memories(const std::vector<Card>& cards);
    static bool has_several_of_one(const std::vector<Card>& cards);
    std::unique_ptr<StreamComm> connect(const StreamComms::Id& id, int rank, int size);
    Parts make_parts();
    sys::Result<std::unique_ptr<Communicator>> split_rails();
    void take_direct(const std::vector<Tried>& tried);
    sys::Result<void> make_ways(const std::vector<Found>& found);
    sys::Result<void> add_rails(std::unique_ptr<NodeExchange> exchange);
    sys::Result<void> add_rails(NodeExchange& exchange, std::unique_ptr<RailExchange> rail);
    bool has_rails() const;

    // In device_trial.cpp.
    Tried try_direct();

    // In device_choice.cpp.
    sys::Result<void> choose();
    sys::Result<std::vector<double>> time_ways();
    sys::Result<double> time(DeviceOperation& way, const Trial& trial, std::size_t bytes);
    void take_fastest(const std::vector<double>& times);
    DeviceOperation& way_for(const DeviceCall& call);

    bool has_graphs() const { return graphs_.use_count() > 1; }
    Step advance();
    Failure failure_of(const DeviceOperation& way, const std::string& doing) const;
    void look();
    void finish(StreamComm& comm);
    void abort();
    void end(std::unique_ptr<Communicator>& part, const Failure& failure);
    void end_first(batchai_coll_status status);
    void end_all(batchai_coll_status status);
    batchai_coll_status conclude(Request* request);

    Communicator& comm_;
    std::shared_ptr<StreamComms> comms_;
    std::shared_ptr<Device> device_;
    std::optional<Orders> orders_;
    // Of equal local ranks, through pinned memory and from device to device; of all.
    std::unique_ptr<Communicator> rail_, direct_, host_;
    std::optional<Segment> counts_;
    std::vector<std::byte*> memories_;  // of exchanges, by local rank
    std::unique_ptr<StreamComm> node_comm_, all_comm_;
    std::vector<std::unique_ptr<NodeExchange>> node_exchanges_;
    std::vector<std::unique_ptr<RailExchange>> rail_exchanges_;
    std::vector<std::unique_ptr<DeviceOperation>> ways_;
    DeviceOperation* capturable_ = nullptr;  // of them, what takes captured calls; null: none
    std::shared_ptr<void> graphs_ = std::make_shared<int>();  // which graphs with calls have, too
    // Which way is taken up to so many bytes; the last one for more.
    struct Choice {
        std::size_t bytes, way;
    };
    std::vector<Choice> choices_;
    std::string plan_;
    std::string
        no_direct_;  // why parts do not go from GPU to GPU, for the plan; empty: nothing failed

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
