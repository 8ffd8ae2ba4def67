// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/device_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collectives/common/backoff.hpp"

namespace batchai::coll {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {64u << 10, 512u << 10, 4u << 20, 16u << 20};
constexpr int kRuns = 4;  // the first one warms up; its time is not used

std::string in_words(std::size_t bytes) {
    return bytes < (1u << 20) ? fmt::format("{} KiB", bytes >> 10)
                              : fmt::format("{} MiB", bytes >> 20);
}

// Times the ways on this rank, while the other ranks do the same.
class Stopwatch {
  public:
    Stopwatch(Communicator& comm, DeviceWays& ways) : comm_(comm), ways_(ways) {}

    // Returns seconds: for each size, the times of all ways.
    sys::Result<std::vector<double>> time_all() {
        Device& device = ways_.device();
        const std::string who = fmt::format("rank {}", comm_.topology().rank);
        const auto memory = device.allocate(kSizes.back());
        if (!memory) return memory.error().in(who);
        memory_ = *memory;
        if (auto made = device.make({&stream_}, {&event_}); !made) return made.error().in(who);
        std::vector<double> times;
        for (const std::size_t bytes : kSizes) {
            for (const auto& way : ways_.all()) {
                const auto took = time(*way, bytes);
                if (!took) return took.error();
                times.push_back(*took);
            }
        }
        return times;
    }

  private:
    using Clock = std::chrono::steady_clock;

    // The shortest of several runs.
    sys::Result<double> time(DeviceOperation& way, std::size_t bytes) {
        double best = 0;
        for (int run = 0; run < kRuns; ++run) {
            const auto took = time_once(way, bytes);
            if (!took) return took.error();
            if (run == 1 || (run > 1 && *took < best)) best = *took;
        }
        return best;
    }

    // From the start of the call until the device has executed it.
    sys::Result<double> time_once(DeviceOperation& way, std::size_t bytes) {
        DeviceCall call =
            allreduce_call(memory_, memory_, bytes / sizeof(float), BATCHAI_COLL_FLOAT32,
                           BATCHAI_COLL_MAX);  // MAX works with any uninitialized numbers
        call.stream = stream_;
        const std::string doing = "timing " + way.name();
        Orders& orders = ways_.orders();
        const auto begun = Clock::now();
        way.begin(call);
        Backoff backoff;
        for (Step step = Step::idle; step != Step::done; step = way.step()) {
            if (step == Step::failed) return sys::Error{ways_.failure_of(way, doing).sentence};
            if (step == Step::moved) {
                backoff.reset();
                continue;
            }
            if (auto good = look(way, begun); !good) return good.error();
            backoff.pause();
        }
        orders.record(event_, stream_);
        while (!orders.is_done(event_)) {
            if (auto good = look(way, begun); !good) return good.error();
        }
        if (orders.error()) return sys::Error{ways_.failure_of(way, doing).sentence};
        return std::chrono::duration<double>(Clock::now() - begun).count();
    }

    // Called while this rank makes no progress.
    sys::Result<void> look(const DeviceOperation& way, Clock::time_point begun) const {
        if (comm_.engine().has_failed()) return sys::Error{comm_.engine().failure().sentence};
        const auto limit = comm_.timeout();
        if (limit.count() == 0 || Clock::now() - begun < limit) return {};
        return sys::Error{way.name() + " did not end in time"};
    }

    Communicator& comm_;
    DeviceWays& ways_;
    std::byte* memory_ = nullptr;
    Device::Stream stream_ = nullptr;
    Device::Event event_ = nullptr;
};

}  // namespace

DeviceOperation& WayChoice::way_for(const DeviceCall& call) const {
    const std::size_t bytes = call.count() * type_size(call.type());
    const auto choice = std::find_if(choices_.begin(), choices_.end() - 1,
                                     [&](const Choice& it) { return bytes <= it.bytes; });
    return *ways_->all()[choice->way];
}

sys::Result<WayChoice> WayChoice::measure(Communicator& comm, DeviceWays& ways) {
    const Topology& topology = comm.topology();
    Engine& engine = comm.engine();
    WayChoice choice(ways);
    choice.plan_ = fmt::format("{} of {} ranks on {} nodes", ways.device().name(), topology.size,
                               topology.nodes());
    if (ways.all().size() == 1) {
        choice.choices_ = {{0, 0}};
        choice.plan_ += ": " + ways.all()[0]->name() + ", the only way";
        return choice;
    }
    auto times = Stopwatch(comm, ways).time_all();
    if (!times) engine.fail_unless_reported({BATCHAI_COLL_ERR_SYSTEM, times.error().message});
    if (engine.failure().status != BATCHAI_COLL_OK) return sys::Error{engine.failure().sentence};
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = times->size();
    call.signature.type = BATCHAI_COLL_FLOAT64;
    call.signature.op = BATCHAI_COLL_MAX;
    call.receive = reinterpret_cast<std::byte*>(times->data());
    call.send = call.receive;
    if (engine.wait(engine.start(call)) != BATCHAI_COLL_OK) {
        return sys::Error{engine.failure().sentence};
    }
    choice.take_fastest(*times);
    return choice;
}

// A way is used up to the geometric middle between its size and the next one.
void WayChoice::take_fastest(const std::vector<double>& times) {
    const auto& ways = ways_->all();
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
        const auto first = times.begin() + static_cast<std::ptrdiff_t>(i * ways.size());
        const auto last = first + static_cast<std::ptrdiff_t>(ways.size());
        const auto best = static_cast<std::size_t>(std::min_element(first, last) - first);
        const std::size_t next = kSizes[std::min(i + 1, kSizes.size() - 1)];
        std::size_t limit = kSizes[i];
        while (limit * limit < kSizes[i] * next) limit *= 2;
        if (!choices_.empty() && choices_.back().way == best) choices_.pop_back();
        choices_.push_back({limit, best});
        plan_ += fmt::format("\n  {}: {}", in_words(kSizes[i]), ways[best]->name());
        for (std::size_t way = 0; way < ways.size(); ++way) {
            plan_ += fmt::format("\n  {:>10.3f} ms  {}",
                                 first[static_cast<std::ptrdiff_t>(way)] * 1e3, ways[way]->name());
        }
    }
}

}  // namespace batchai::coll
