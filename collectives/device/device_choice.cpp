// SPDX-License-Identifier: Apache-2.0
//
// DeviceCommunicator: which way is taken for what size. Each is timed as the communicator is made,
// on all ranks together, and the slowest rank's time counts, so that all choose the same.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collectives/common/backoff.hpp"
#include "collectives/device/device_comm.hpp"

namespace batchai::coll {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {64u << 10, 512u << 10, 4u << 20, 16u << 20};
constexpr int kRuns = 4;  // of which the first one does not count

std::string in_words(std::size_t bytes) {
    return bytes < (1u << 20) ? fmt::format("{} KiB", bytes >> 10)
                              : fmt::format("{} MiB", bytes >> 20);
}

}  // namespace

// The host's is the last one, and the only one for others than allreduces.
DeviceOperation& DeviceCommunicator::way_for(const DeviceCall& call) {
    if (call.kind != Kind::allreduce) return *ways_.back();
    if (call.captured) return *capturable_;
    const std::size_t bytes = call.count * type_size(call.type);
    const auto choice = std::find_if(choices_.begin(), choices_.end() - 1,
                                     [&](const Choice& it) { return bytes <= it.bytes; });
    return *ways_[choice->way];
}

sys::Result<void> DeviceCommunicator::choose() {
    const Topology& topology = comm_.topology();
    plan_ =
        fmt::format("{} of {} ranks on {} nodes", device_->name(), topology.size, topology.nodes());
    if (ways_.size() == 1) {
        choices_ = {{0, 0}};
        plan_ += ": " + ways_[0]->name() + ", there is no other way";
        return {};
    }
    auto times = time_ways();
    if (!times) {
        comm_.engine().fail_unless_told({BATCHAI_COLL_ERR_SYSTEM, times.error().message});
    }
    if (failure().status != BATCHAI_COLL_OK) return sys::Error{failure().sentence};
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = times->size();
    call.signature.type = BATCHAI_COLL_FLOAT64;
    call.signature.op = BATCHAI_COLL_MAX;
    call.receive = reinterpret_cast<std::byte*>(times->data());
    call.send = call.receive;
    Engine& engine = comm_.engine();
    if (engine.wait(engine.start(call)) != BATCHAI_COLL_OK) {
        return sys::Error{failure().sentence};
    }
    if (!no_direct_.empty()) plan_ += "\n  not from GPU to GPU: " + no_direct_;
    take_fastest(*times);
    return {};
}

// Seconds, for each size those of all ways.
sys::Result<std::vector<double>> DeviceCommunicator::time_ways() {
    const auto memory = device_->allocate(kSizes.back());
    const auto stream = device_->make_stream();
    const auto event = device_->make_event();
    const std::string who = fmt::format("rank {}", rank());
    if (!memory) return memory.error().in(who);
    if (!stream) return stream.error().in(who);
    if (!event) return event.error().in(who);
    std::vector<double> times;
    for (const std::size_t bytes : kSizes) {
        for (const auto& way : ways_) {
            const auto took = time(*way, {*memory, *stream, *event}, bytes);
            if (!took) return took.error();
            times.push_back(*took);
        }
    }
    return times;
}

// The best of some runs, from the call to the end on the device.
sys::Result<double> DeviceCommunicator::time(DeviceOperation& way, const Trial& trial,
                                             std::size_t bytes) {
    using Clock = std::chrono::steady_clock;
    DeviceCall call;
    call.send = call.receive = trial.memory;
    call.count = bytes / sizeof(float);
    call.op = BATCHAI_COLL_MAX;  // whatever numbers there are
    call.stream = trial.stream;
    const std::string doing = "timing " + way.name();
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
        const auto begun = Clock::now();
        const auto look = [&]() -> sys::Result<void> {
            if (comm_.engine().has_failed()) return sys::Error{failure().sentence};
            const auto limit = comm_.timeout();
            if (limit.count() == 0 || Clock::now() - begun < limit) return {};
            return sys::Error{way.name() + " does not end"};
        };
        way.begin(call);
        Backoff backoff;
        for (Step step = Step::idle; step != Step::done; step = way.step()) {
            if (step == Step::failed) return sys::Error{failure_of(way, doing).sentence};
            if (step == Step::moved) {
                backoff.reset();
                continue;
            }
            if (auto good = look(); !good) return good.error();
            backoff.pause();
        }
        orders_->record(trial.event, trial.stream);
        while (!orders_->is_done(trial.event)) {
            if (auto good = look(); !good) return good.error();
        }
        if (orders_->error()) return sys::Error{failure_of(way, doing).sentence};
        const std::chrono::duration<double> took = Clock::now() - begun;
        if (run == 1 || (run > 1 && took.count() < best)) best = took.count();
    }
    return best;
}

// A way is taken up to halfway to the next size, by factors.
void DeviceCommunicator::take_fastest(const std::vector<double>& times) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
        const auto first = times.begin() + static_cast<std::ptrdiff_t>(i * ways_.size());
        const auto last = first + static_cast<std::ptrdiff_t>(ways_.size());
        const auto best = static_cast<std::size_t>(std::min_element(first, last) - first);
        const std::size_t next = kSizes[std::min(i + 1, kSizes.size() - 1)];
        std::size_t limit = kSizes[i];
        while (limit * limit < kSizes[i] * next) limit *= 2;
        if (!choices_.empty() && choices_.back().way == best) choices_.pop_back();
        choices_.push_back({limit, best});
        plan_ += fmt::format("\n  {}: {}", in_words(kSizes[i]), ways_[best]->name());
        for (std::size_t way = 0; way < ways_.size(); ++way) {
            plan_ += fmt::format("\n  {:>10.3f} ms  {}",
                                 first[static_cast<std::ptrdiff_t>(way)] * 1e3, ways_[way]->name());
        }
    }
}

}  // namespace batchai::coll
