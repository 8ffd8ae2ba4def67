// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/device_comm.hpp"

#include <fmt/format.h>

#include "collectives/common/backoff.hpp"

namespace batchai::coll {
namespace {

// The signature with which the ranks meet before the call.
Signature signature_of(const DeviceCall& call) {
    Signature signature = call.signature;
    signature.on_devices = true;
    return signature;
}

}  // namespace

sys::Result<std::unique_ptr<DeviceCommunicator>> DeviceCommunicator::create(Communicator& comm,
                                                                            sys::Result<Gpu> gpu) {
    auto ways = DeviceWays::make(comm, std::move(gpu));
    if (!ways) return ways.error();
    auto choice = WayChoice::measure(comm, **ways);
    if (!choice) {
        (*ways)->abort();
        return choice.error();
    }
    return std::unique_ptr<DeviceCommunicator>(
        new DeviceCommunicator(comm, std::move(*ways), std::move(*choice)));
}

// After a failure, or if close() was not called, it aborts.
DeviceCommunicator::~DeviceCommunicator() {
    if (!closed_) ways_->abort();
}

// With newer versions of NCCL, a communicator's end waits for those of the node's other ranks.
void DeviceCommunicator::finish(StreamComm& comm) {
    ways_->orders().give([&] { return comm.finish(); });
    Backoff backoff;
    idle_since_.reset();
    while (!ways_->orders().is_ready(comm) && !comm_.engine().has_failed()) {
        look();
        backoff.pause();
    }
}

// finish() waits for the other ranks, so that no rank frees memory that others still use.
Failure DeviceCommunicator::close() {
    for (StreamComm* comm : ways_->stream_comms()) {
        if (comm != nullptr) finish(*comm);
    }
    // Otherwise the other ranks would wait for operations that this rank has not ended.
    if (const auto& error = ways_->orders().error()) {
        comm_.engine().fail_unless_reported(
            {BATCHAI_COLL_ERR_SYSTEM, fmt::format("rank {}: {}", rank(), error->message)});
    }
    // After a failure, the collective part of close may never end.
    if (failure().status != BATCHAI_COLL_OK) return failure();
    ways_->close();
    closed_ = failure().status == BATCHAI_COLL_OK;
    return failure();
}

DeviceCommunicator::Request* DeviceCommunicator::start(const DeviceCall& call) {
    if (unused_.empty()) unused_.push_back(&requests_.emplace_back());
    Request* request = unused_.back();
    unused_.pop_back();
    request->call = call;
    request->status = BATCHAI_COLL_IN_PROGRESS;
    request->agreement = comm_.engine().start({signature_of(call)});
    line_.push_back(request);
    advance();
    return request;
}

batchai_coll_status DeviceCommunicator::conclude(Request* request) {
    unused_.push_back(request);
    return request->status;
}

batchai_coll_status DeviceCommunicator::test(Request* request) {
    if (request->status == BATCHAI_COLL_IN_PROGRESS) moved_ = advance() != Step::idle;
    return request->status == BATCHAI_COLL_IN_PROGRESS ? request->status : conclude(request);
}

batchai_coll_status DeviceCommunicator::wait(Request* request) {
    Backoff backoff;
    comm_.progress().set_inside(true);
    while (request->status == BATCHAI_COLL_IN_PROGRESS) {
        if (advance() == Step::idle) {
            backoff.pause();
        } else {
            backoff.reset();
        }
    }
    comm_.progress().set_inside(false);
    return conclude(request);
}

Step DeviceCommunicator::advance() {
    if (line_.empty()) return Step::idle;
    Request& request = *line_.front();
    Engine& engine = comm_.engine();
    Step step = Step::idle;
    if (way_ == nullptr) {
        way_ = &choice_.way_for(request.call);
        way_->begin(request.call);
        ordered_ = false;
        step = Step::moved;
    }
    if (request.agreement != nullptr) {
        const auto status = engine.test(request.agreement);
        if (status != BATCHAI_COLL_IN_PROGRESS) {
            request.agreement = nullptr;
            step = Step::moved;
        }
    }
    if (!ordered_ && failure().status == BATCHAI_COLL_OK) {
        const Step ordered = way_->step();
        if (ordered == Step::failed) {
            engine.fail_unless_reported(
                ways_->failure_of(*way_, describe(signature_of(request.call))));
        }
        ordered_ = ordered == Step::done;
        if (ordered != Step::idle) step = Step::moved;
    }
    if (step == Step::idle) {
        look();
    } else {
        idle_since_.reset();
    }
    if (failure().status != BATCHAI_COLL_OK) {
        end_all(failure().status);
    } else if (ordered_ && request.agreement == nullptr) {
        end_first(BATCHAI_COLL_OK);
    }
    return step;
}

// Called while this rank makes no progress.
void DeviceCommunicator::look() {
    const auto now = std::chrono::steady_clock::now();
    if (!idle_since_) idle_since_ = now;
    if (comm_.engine().has_failed()) return;
    const auto limit = comm_.timeout();
    if (limit.count() == 0 || now - *idle_since_ < limit) return;
    comm_.engine().fail(
        {BATCHAI_COLL_ERR_TIMEOUT,
         fmt::format("{}: the GPUs did not finish within {} s; BATCHAI_COLL_TIMEOUT sets the limit",
                     line_.empty() ? "closing" : describe(signature_of(line_.front()->call)),
                     std::chrono::duration<double>(limit).count())},
        true);
}

void DeviceCommunicator::end_first(batchai_coll_status status) {
    line_.front()->status = status;
    line_.pop_front();
    way_ = nullptr;
}

// The engine has ended the requests' agreements already.
void DeviceCommunicator::end_all(batchai_coll_status status) {
    while (!line_.empty()) end_first(status);
}

}  // namespace batchai::coll
