// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/device_messages.hpp"

#include <fmt/format.h>

namespace batchai::coll {
namespace {

// Alignment of a part in the buffer, in bytes: the size of a GPU's widest load.
constexpr std::size_t kPlace = 16;

std::size_t bytes_in_buffer(const Part& part) {
    return (bytes_of(part.signature) + kPlace - 1) / kPlace * kPlace;
}

}  // namespace

sys::Result<Device*> DeviceMessages::device(int number) {
    const std::scoped_lock held(lock_);
    if (gpu_.device == nullptr) {
        auto opened = open_(number);
        if (!opened) return opened.error();
        gpu_ = std::move(*opened);
        number_ = number;
    }
    if (number != number_) {
        return sys::Error{fmt::format("a queue uses one GPU, and this one uses GPU {}", number_)};
    }
    return gpu_.device.get();
}

sys::Result<Device::Event> DeviceMessages::mark(Device::Stream stream) {
    const std::scoped_lock held(lock_);
    if (unused_.empty()) {
        const auto made = gpu_.device->make_event();
        if (!made) return made;
        unused_.push_back(*made);
    }
    const Device::Event event = unused_.back();
    if (auto done = gpu_.device->record(event, stream); !done) return done.error();
    unused_.pop_back();
    return event;
}

void DeviceMessages::unmark(Device::Event event) {
    const std::scoped_lock held(lock_);
    unused_.push_back(event);
}

sys::Result<void> DeviceMessages::follow(Device::Stream stream) {
    return gpu_.device->wait(stream, done_);
}

void DeviceMessages::begin(const std::vector<Submission*>& together) {
    parts_.clear();
    marks_.clear();
    for (const Submission* submission : together) {
        marks_.push_back(submission->mark);
        for (const Part& part : submission->parts) parts_.push_back(&part);
    }
    first_ = next_ = 0;
    request_ = nullptr;
}

Step DeviceMessages::step() {
    if (communicator_ == nullptr) return connect() ? Step::moved : Step::failed;
    if (request_ == nullptr) {
        if (next_ == 0) {
            for (const Device::Event mark : marks_) orders_->wait(stream_, mark);
        }
        start_next();
        look_for_errors();
        return Step::moved;
    }
    const auto status = communicator_->test(request_);
    if (status == BATCHAI_COLL_IN_PROGRESS) {
        return communicator_->has_moved() ? Step::moved : Step::idle;
    }
    request_ = nullptr;
    if (status != BATCHAI_COLL_OK) return Step::moved;  // the communicator reports the failure
    unpack();
    const bool is_last = next_ == parts_.size();
    if (is_last) orders_->record(done_, stream_);
    return look_for_errors() || !is_last ? Step::moved : Step::done;
}

// Reports an error of this rank's GPU, which the other ranks cannot see.
bool DeviceMessages::look_for_errors() {
    const auto& error = orders_->error();
    if (error) fail_all(error->message);
    return error.has_value();
}

void DeviceMessages::fail_all(const std::string& why) {
    comm_.engine().fail_unless_reported(
        {BATCHAI_COLL_ERR_SYSTEM, fmt::format("rank {}: {}", comm_.topology().rank, why)});
}

// Connects the GPUs of all ranks. It waits for the other ranks, which do the same.
bool DeviceMessages::connect() {
    auto made = DeviceCommunicator::create(comm_, gpu_);
    if (!made) {
        failure_ = comm_.engine().failure();  // if a rank was lost meanwhile
        if (failure_.status == BATCHAI_COLL_OK) {
            failure_ = {BATCHAI_COLL_ERR_SYSTEM, made.error().message};
        }
        return false;
    }
    communicator_ = std::move(*made);
    tell_(communicator_->plan());
    if (auto done = make_parts(); !done) fail_all(done.error().message);
    return true;
}

sys::Result<void> DeviceMessages::make_parts() {
    Device& device = *gpu_.device;
    orders_.emplace(device);
    if (buffer_bytes_ > 0) {
        const auto buffer = device.allocate(buffer_bytes_);
        if (!buffer) return buffer.error();
        buffer_ = *buffer;
    }
    return device.make({&stream_}, {&done_});
}

// Starts as many parts of one type as the buffer holds. A single part is reduced in place.
void DeviceMessages::start_next() {
    first_ = next_;
    const Signature& like = parts_[first_]->signature;
    std::size_t bytes = 0;
    for (; next_ < parts_.size() && parts_[next_]->signature.type == like.type; ++next_) {
        const std::size_t more = bytes_in_buffer(*parts_[next_]);
        if (bytes + more > buffer_bytes_) break;
        bytes += more;
    }
    DeviceCall call;
    call.signature = like;
    call.stream = stream_;
    if (next_ > first_ + 1) {
        pack();
        call.send = call.receive = buffer_;
        call.signature.count = bytes / type_size(like.type);
    } else {
        next_ = first_ + 1;
        call.send = parts_[first_]->send;
        call.receive = parts_[first_]->receive;
    }
    if (!orders_->error()) request_ = communicator_->start(call);
}

void DeviceMessages::pack() {
    copy_parts([](Device::Copies& copies, const Part& part, std::byte* place) {
        copies.add(place, part.send, bytes_of(part.signature));
    });
}

void DeviceMessages::unpack() {
    if (next_ == first_ + 1) return;
    copy_parts([](Device::Copies& copies, const Part& part, const std::byte* place) {
        copies.add(part.receive, place, bytes_of(part.signature));
    });
}

// Calls place(copies, part, address in the buffer) for all current parts.
template <class Place>
void DeviceMessages::copy_parts(Place place) {
    Device::Copies copies;
    std::byte* at = buffer_;
    for (std::size_t i = first_; i < next_; ++i) {
        place(copies, *parts_[i], at);
        at += bytes_in_buffer(*parts_[i]);
        if (copies.count == Device::Copies::kMost || i + 1 == next_) {
            orders_->copy_all(copies, stream_);
            copies.count = 0;
        }
    }
}

Failure DeviceMessages::close() {
    return communicator_ == nullptr ? Failure{} : communicator_->close();
}

}  // namespace batchai::coll
