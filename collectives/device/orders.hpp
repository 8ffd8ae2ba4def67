// SPDX-License-Identifier: Apache-2.0
//
// Orders: gives orders to a device and keeps the first error. After an error it gives no more
// orders, so the caller needs to check for errors only occasionally.
#pragma once

#include <optional>
#include <utility>

#include "collectives/device/stream_comm.hpp"

namespace batchai::coll {

class Orders {
  public:
    explicit Orders(Device& device) : device_(device) {}

    void copy(std::byte* to, const std::byte* from, std::size_t bytes, Device::Stream stream) {
        if (bytes > 0) give([&] { return device_.copy(to, from, bytes, stream); });
    }
    void copy_all(const Device::Copies& copies, Device::Stream stream) {
        if (copies.count > 0) give([&] { return device_.copy_all(copies, stream); });
    }
    void reduce(const Device::Reduction& reduction, Device::Stream stream) {
        if (reduction.count > 0) give([&] { return device_.reduce(reduction, stream); });
    }
    void record(Device::Event event, Device::Stream stream) {
        give([&] { return device_.record(event, stream); });
    }
    void wait(Device::Stream stream, Device::Event event) {
        give([&] { return device_.wait(stream, event); });
    }
    // True also after an error, so that the caller does not wait.
    bool is_done(Device::Event event) {
        if (error_) return true;
        const auto done = device_.query(event);
        if (!done) error_ = done.error();
        return !done || *done;
    }

    // Whether the communicator's last operation is in its stream; true also after an error.
    bool is_ready(StreamComm& comm) {
        if (error_) return true;
        const auto ready = comm.ready();
        if (!ready) error_ = ready.error();
        return !ready || *ready;
    }
    // Runs any other function that may fail.
    template <class Order>
    void give(Order order) {
        if (error_) return;
        if (auto given = order(); !given) error_ = given.error();
    }

    const std::optional<sys::Error>& error() const { return error_; }

  private:
    Device& device_;
    std::optional<sys::Error> error_;
};

}  // namespace batchai::coll
