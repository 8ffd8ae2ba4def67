// SPDX-License-Identifier: Apache-2.0
#include "host_device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>

#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

namespace {

constexpr std::byte kPattern{0xa5};
constexpr std::uint64_t kMostOrders = 4;  // the most orders that one query executes
constexpr int kMostIdle = 3;

// The content of a Device::Handle.
struct SegmentName {
    std::uint64_t bytes;
    char path[sizeof(Device::Handle) - sizeof bytes];
};
static_assert(sizeof(SegmentName) == sizeof(Device::Handle));

// One record of an event: whether it is done. Waiting orders share it, even if the event is
// recorded again.
using Mark = std::shared_ptr<bool>;

}  // namespace

struct DeviceStream {
    struct Order {
        std::function<void()> work;  // empty: the order only waits
        Mark after;                  // the record to wait for; null: none
    };
    std::deque<Order> orders;

    bool ready() const {
        return !orders.empty() && (orders.front().after == nullptr || *orders.front().after);
    }
};

struct DeviceEvent {
    Mark last;
};

HostDevice::HostDevice(std::uint64_t seed)
    : name_(fmt::format("the host's memory, seed {}", seed)), random_(seed) {}

HostDevice::~HostDevice() {
    HostDevice::close();
}

void HostDevice::close() {
    const std::scoped_lock held(lock_);
    while (step()) {
    }
    std::erase_if(memory_, [](const Mapped& memory) { return memory.kind == Kind::opened; });
}

bool HostDevice::Mapped::contains(const void* at, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(segment.data());
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    return place >= begin && place - begin < segment.size() &&
           bytes <= segment.size() - (place - begin);
}

sys::Result<std::byte*> HostDevice::add(sys::Result<Segment> segment, Kind kind) {
    if (!segment) return segment.error();
    memory_.push_back({std::move(*segment), kind});
    return memory_.back().segment.data();
}

sys::Result<std::byte*> HostDevice::allocate(std::size_t bytes) {
    const std::scoped_lock held(lock_);
    auto memory = add(Segment::create(std::max<std::size_t>(bytes, 1)), Kind::own);
    if (memory) std::fill_n(*memory, bytes, kPattern);
    return memory;
}

sys::Result<std::byte*> HostDevice::allocate_pinned(std::size_t bytes) {
    const std::scoped_lock held(lock_);
    auto memory = add(Segment::create(std::max<std::size_t>(bytes, 1)), Kind::pinned);
    if (memory) std::fill_n(*memory, bytes, kPattern);
    return memory;
}

sys::Result<Device::Stream> HostDevice::make_stream() {
    const std::scoped_lock held(lock_);
    streams_.push_back(std::make_unique<DeviceStream>());
    return streams_.back().get();
}

sys::Result<Device::Event> HostDevice::make_event() {
    const std::scoped_lock held(lock_);
    events_.push_back(std::make_unique<DeviceEvent>());
    return events_.back().get();
}

sys::Result<Device::Handle> HostDevice::share(const std::byte* memory) {
    const std::scoped_lock held(lock_);
    const auto found = std::find_if(memory_.begin(), memory_.end(), [&](const Mapped& other) {
        return other.kind == Kind::own && other.segment.data() == memory;
    });
    if (found == memory_.end())
        return sys::Error{"sharing memory that allocate() has not returned"};
    const std::string path = found->segment.path();
    SegmentName address{found->segment.size(), {}};
    if (path.size() >= sizeof address.path) return sys::Error{path + " is too long a path"};
    std::copy(path.begin(), path.end(), address.path);
    Handle handle;
    std::memcpy(&handle, &address, sizeof handle);
    return handle;
}

sys::Result<std::byte*> HostDevice::open(const Handle& handle) {
    SegmentName address;
    std::memcpy(&address, &handle, sizeof address);
    const std::string path(address.path, ::strnlen(address.path, sizeof address.path));
    const std::scoped_lock held(lock_);
    return add(Segment::open(path, address.bytes), Kind::opened);
}

std::string HostDevice::identity() const {
    return fmt::format("{} {}", ::getpid(), static_cast<const void*>(this));
}

sys::Result<void> HostDevice::reaches(const void* memory, std::size_t bytes) const {
    if (bytes == 0 || std::any_of(memory_.begin(), memory_.end(), [&](const Mapped& other) {
            return other.contains(memory, bytes);
        })) {
        return {};
    }
    return sys::Error{fmt::format("{} bytes that the device does not reach", bytes)};
}

sys::Result<void> HostDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                   Stream stream) {
    const std::scoped_lock held(lock_);
    for (const std::byte* memory : {static_cast<const std::byte*>(to), from}) {
        if (auto reached = reaches(memory, bytes); !reached) return reached.error().in("a copy");
    }
    stream->orders.push_back({[=] {
                                  if (bytes > 0) std::memcpy(to, from, bytes);
                              },
                              nullptr});
    return {};
}

sys::Result<void> HostDevice::reduce(const Reduction& reduction, Stream stream) {
    if (auto good = check(reduction); !good) return good;
    const std::scoped_lock held(lock_);
    const auto kernels = reduction_of(reduction.type, reduction.op);
    const std::size_t bytes = reduction.count * kernels.element;
    if (auto reached = reaches(reduction.to, bytes); !reached) {
        return reached.error().in("a reduction's result");
    }
    for (std::size_t k = 0; k < reduction.sources; ++k) {
        if (auto reached = reaches(reduction.from[k], bytes); !reached) {
            return reached.error().in("a reduction");
        }
    }
    stream->orders.push_back(
        {[=] {
             const Scale scale{reduction.before, reduction.after, reduction.divisor};
             const auto sources = static_cast<int>(reduction.sources);
             std::array<const void*, Reduction::kSources> from{};
             std::copy_n(reduction.from.begin(), reduction.sources, from.begin());
             kernels.combine(reduction.to, from.data(), sources, reduction.count, scale);
         },
         nullptr});
    return {};
}

sys::Result<void> HostDevice::record(Event event, Stream stream) {
    const std::scoped_lock held(lock_);
    const Mark mark = std::make_shared<bool>(false);
    event->last = mark;
    stream->orders.push_back({[mark] { *mark = true; }, nullptr});
    return {};
}

sys::Result<void> HostDevice::wait(Stream stream, Event event) {
    const std::scoped_lock held(lock_);
    if (event->last != nullptr) stream->orders.push_back({{}, event->last});
    return {};
}

bool HostDevice::step() {
    std::vector<DeviceStream*> ready;
    for (const auto& stream : streams_) {
        if (stream->ready()) ready.push_back(stream.get());
    }
    if (ready.empty()) return false;
    DeviceStream& stream = *ready[random_() % ready.size()];
    const DeviceStream::Order order = std::move(stream.orders.front());
    stream.orders.pop_front();
    if (order.work) order.work();
    return true;
}

sys::Result<bool> HostDevice::query(Event event) {
    const std::scoped_lock held(lock_);
    std::uint64_t orders = random_() % (kMostOrders + 1);
    if (orders == 0 && idle_ == kMostIdle) orders = 1;
    idle_ = orders == 0 ? idle_ + 1 : 0;
    for (std::uint64_t i = 0; i < orders && step(); ++i) {
    }
    return event->last == nullptr || *event->last;
}

bool HostDevice::holds(const void* memory) const {
    const std::scoped_lock held(lock_);
    return std::any_of(memory_.begin(), memory_.end(), [&](const Mapped& other) {
        return other.kind != Kind::pinned && other.contains(memory, 1);
    });
}

}  // namespace batchai::coll
