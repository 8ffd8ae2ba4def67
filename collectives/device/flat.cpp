// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/flat.hpp"

#include "collectives/common/call.hpp"

namespace batchai::coll {

sys::Result<std::unique_ptr<FlatAllreduce>> FlatAllreduce::create(Device& device, Orders& orders,
                                                                  StreamComm& comm, int ranks) {
    std::unique_ptr<FlatAllreduce> made(new FlatAllreduce(orders, comm, ranks));
    const std::vector streams{&made->stream_};
    const std::vector events{&made->started_, &made->ended_};
    if (auto done = device.make(streams, events); !done) return done.error();
    return made;
}

void FlatAllreduce::begin(const DeviceCall& call) {
    call_ = call;
    given_ = false;
    orders_.record(started_, call.stream);
}

Step FlatAllreduce::step() {
    const bool ready = orders_.is_ready(comm_);
    if (orders_.error()) return Step::failed;
    if (!ready) return Step::idle;
    if (!given_ && call_.count() > 0) {
        given_ = true;
        order();
        return Step::moved;
    }
    if (call_.count() > 0) scale();
    orders_.record(ended_, stream_);
    orders_.wait(call_.stream, ended_);
    return Step::done;
}

void FlatAllreduce::order() {
    orders_.wait(stream_, started_);
    const std::byte* from = call_.send;
    if (call_.signature.before != 1 || call_.type() == BATCHAI_COLL_BOOL) {
        auto read =
            Device::Reduction::of_one(call_.send, call_.receive, call_.count(), call_.type());
        read.before = call_.signature.before;
        orders_.reduce(read, stream_);
        from = call_.receive;
    }
    const auto op = call_.op() == BATCHAI_COLL_AVERAGE ? BATCHAI_COLL_SUM : call_.op();
    orders_.give([&] {
        return comm_.all_reduce(from, call_.receive, call_.count(), call_.type(), op, stream_);
    });
}

void FlatAllreduce::scale() {
    const int divisor = call_.op() == BATCHAI_COLL_AVERAGE ? ranks_ : 1;
    if (call_.signature.after == 1 && divisor == 1) return;
    auto scaled =
        Device::Reduction::of_one(call_.receive, call_.receive, call_.count(), call_.type());
    scaled.after = call_.signature.after;
    scaled.divisor = divisor;
    orders_.reduce(scaled, stream_);
}

}  // namespace batchai::coll
