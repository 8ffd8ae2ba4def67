// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/device_comm.hpp"

#include <fmt/format.h>

#include "collectives/common/backoff.hpp"
#include "collectives/device/aborts.hpp"

namespace batchai::coll {
namespace {

Signature signature_of(const DeviceCall& call) {
    Signature signature;
    signature.on_devices = true;
    signature.captured = call.captured;
    signature.kind = call.kind;
    signature.count = call.count;
    signature.type = static_cast<std::uint8_t>(call.type);
    signature.op = static_cast<std::uint8_t>(call.op);
    signature.root = call.root;
    signature.before = call.before;
    signature.after = call.after;
    signature.layout = call.layout;
    return signature;
}

}  // namespace

sys::Result<std::unique_ptr<DeviceCommunicator>> DeviceCommunicator::create(Communicator& comm,
                                                                            sys::Result<Gpu> gpu) {
    std::unique_ptr<DeviceCommunicator> made(new DeviceCommunicator(comm));
    if (auto done = made->set_up(std::move(gpu)); !done) return done.error();
    return made;
}

// Messages under way end with the wires, as what is under way on the devices does with the
// StreamComms: before the device, whose memory, and pinned memory, they use.
DeviceCommunicator::~DeviceCommunicator() {
    ways_.clear();
    rail_exchanges_.clear();
    node_exchanges_.clear();
    if (!closed_) abort();
    for (auto* part : {&rail_, &direct_, &host_}) end(*part, {});
    node_comm_.reset();
    all_comm_.reset();
    device_.reset();
}

// After a failure, or where nobody has closed it. For the end of graphs nobody waits, as nobody
// here has an influence on it.
void DeviceCommunicator::abort() {
    const std::chrono::seconds enough(has_graphs() ? 0 : 5);
    Failure why = failure();
    if (why.status == BATCHAI_COLL_OK) {
        why = {BATCHAI_COLL_ERR_ABORTED,
               fmt::format("rank {} has left without closing its device", rank())};
    }
    Aborts aborts;
    for (auto* comm : {&node_comm_, &all_comm_}) {
        if (*comm != nullptr) aborts.begin(std::move(*comm), device_);
    }
    for (auto* part : {&rail_, &direct_, &host_}) end(*part, why);
    if (device_ != nullptr) aborts.begin(nullptr, std::move(device_));
    aborts.wait(enough);
}

// failure: of messages that may be under way; OK: there are none.
void DeviceCommunicator::end(std::unique_ptr<Communicator>& part, const Failure& failure) {
    if (part == nullptr) return;
    const Device::Entered here(*device_);
    const bool knows = part->engine().failure().status != BATCHAI_COLL_OK;
    if (failure.status != BATCHAI_COLL_OK && !knows) part->engine().fail(failure, false);
    part.reset();
}

bool DeviceCommunicator::outlasts_graphs() const {
    constexpr std::chrono::seconds kLittle(2);
    const auto deadline = std::chrono::steady_clock::now() + kLittle;
    Backoff backoff;
    while (has_graphs()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        backoff.pause();
    }
    return true;
}

// Of newer NCCLs, an end waits for that of the node's other ranks.
void DeviceCommunicator::finish(StreamComm& comm) {
    orders_->give([&] { return comm.finish(); });
    Backoff backoff;
    idle_since_.reset();
    while (!orders_->is_ready(comm) && !comm_.engine().has_failed()) {
        look();
        backoff.pause();
    }
}

// Nobody's memory goes while others use it.
Failure DeviceCommunicator::close() {
    for (StreamComm* comm : {node_comm_.get(), all_comm_.get()}) {
        if (comm != nullptr) finish(*comm);
    }
    // The others would wait for what this rank has not ended.
    if (const auto& error = orders_->error()) {
        comm_.engine().fail_unless_told(
            {BATCHAI_COLL_ERR_SYSTEM, fmt::format("rank {}: {}", rank(), error->message)});
    }
    // Then what others are to take part in may never end.
    if (failure().status != BATCHAI_COLL_OK) return failure();
    device_->close();
    for (Communicator* part : {rail_.get(), direct_.get(), host_.get()}) {
        if (part == nullptr || failure().status != BATCHAI_COLL_OK) continue;
        const Failure failed = part->finalize();
        if (failed.status != BATCHAI_COLL_OK) comm_.engine().fail_unless_told(failed);
    }
    closed_ = failure().status == BATCHAI_COLL_OK;
    return failure();
}

DeviceCommunicator::Request* DeviceCommunicator::start(const DeviceCall& call) {
    if (unused_.empty()) unused_.push_back(&requests_.emplace_back());
    Request* request = unused_.back();
    unused_.pop_back();
    request->owner = this;
    request->call = call;
    request->counts.assign(call.counts.begin(), call.counts.end());
    request->receive_counts.assign(call.receive_counts.begin(), call.receive_counts.end());
    request->call.counts = request->counts;
    request->call.receive_counts = request->receive_counts;
    request->status = BATCHAI_COLL_IN_PROGRESS;
    request->meeting = comm_.engine().start({signature_of(call)});
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
        way_ = &way_for(request.call);
        way_->begin(request.call);
        ordered_ = false;
        step = Step::moved;
    }
    if (request.meeting != nullptr) {
        const auto status = engine.test(request.meeting);
        if (status != BATCHAI_COLL_IN_PROGRESS) {
            request.meeting = nullptr;
            step = Step::moved;
            if (request.call.captured && status == BATCHAI_COLL_OK) {
                orders_->give([&] { return device_->keep(request.call.stream, graphs_); });
            }
        }
    }
    // What is captured stays in the graph: nothing is, before all ranks agree.
    const bool may_step = !request.call.captured || request.meeting == nullptr;
    if (!ordered_ && may_step && failure().status == BATCHAI_COLL_OK) {
        const Step ordered = way_->step();
        if (ordered == Step::failed) {
            engine.fail_unless_told(failure_of(*way_, describe(signature_of(request.call))));
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
    } else if (ordered_ && request.meeting == nullptr) {
        end_first(BATCHAI_COLL_OK);
    }
    return step;
}

// Of this rank's device the others know nothing, so it says whose that is. Other failures do so
// already.
Failure DeviceCommunicator::failure_of(const DeviceOperation& way, const std::string& doing) const {
    if (way.failure().status != BATCHAI_COLL_OK) return way.failure();
    return {BATCHAI_COLL_ERR_SYSTEM,
            fmt::format("rank {}: {}: {}", rank(), doing, orders_->error()->message)};
}

// While nothing moves here.
void DeviceCommunicator::look() {
    const auto now = std::chrono::steady_clock::now();
    if (!idle_since_) idle_since_ = now;
    if (comm_.engine().has_failed()) return;
    const auto limit = comm_.timeout();
    if (limit.count() == 0 || now - *idle_since_ < limit) return;
    comm_.engine().fail(
        {BATCHAI_COLL_ERR_TIMEOUT,
         fmt::format(
             "{}: the GPUs have not done it within {} s; BATCHAI_COLL_TIMEOUT sets the limit",
             line_.empty() ? "closing" : describe(signature_of(line_.front()->call)),
             std::chrono::duration<double>(limit).count())},
        true);
}

void DeviceCommunicator::end_first(batchai_coll_status status) {
    line_.front()->status = status;
    line_.pop_front();
    way_ = nullptr;
}

// Their meetings have ended with the engine.
void DeviceCommunicator::end_all(batchai_coll_status status) {
    while (!line_.empty()) end_first(status);
}

}  // namespace batchai::coll
