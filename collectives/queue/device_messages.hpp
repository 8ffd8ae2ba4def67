// SPDX-License-Identifier: Apache-2.0
//
// DeviceMessages: a queue's messages of tensors in the memory of this rank's GPU. It packs several
// tensors into a buffer there, reduces the buffer between all ranks (device/device_comm.hpp) and
// unpacks it. All of this is ordered in a stream of its own. It comes after the work that was in
// the caller's stream at the submission. It comes before the work that the caller adds after the
// end was reported. So the host never waits for the GPU.
//
// The first submission opens the GPU, and the ranks' GPUs connect with the first message. A job
// without GPU memory does neither.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "collectives/device/device_comm.hpp"
#include "collectives/queue/submission.hpp"

namespace batchai::coll {

class DeviceMessages {
  public:
    // Opens the GPU with that number; -1: one by the local rank.
    using Open = std::function<sys::Result<Gpu>(int number)>;
    // Called with the ways that were found and chosen (DeviceCommunicator::plan).
    using Tell = std::function<void(const std::string& plan)>;

    // buffer: size in bytes of the buffer for packing.
    DeviceMessages(Communicator& comm, Open open, Tell tell, std::size_t buffer)
        : comm_(comm), open_(std::move(open)), tell_(std::move(tell)), buffer_bytes_(buffer) {}
    DeviceMessages(const DeviceMessages&) = delete;
    DeviceMessages& operator=(const DeviceMessages&) = delete;
    // The communicator, if there is one, is the GPU's last owner, and ends it in the right way.
    ~DeviceMessages() { gpu_ = {}; }

    // For callers, in any thread.
    //
    // The GPU with that number. The queue accepts no other GPU after this.
    sys::Result<Device*> device(int number);
    // Records an event on that GPU after all current work of the stream. A submission comes after
    // it.
    sys::Result<Device::Event> mark(Device::Stream stream);
    // Frees the event.
    void unmark(Device::Event event);
    // Call it after a message is done: later work in the stream comes after the message. (It comes
    // after all messages done so far; callers usually wait for the last one.)
    sys::Result<void> follow(Device::Stream stream);

    // For the thread that drives the queue: starts a message. Call step() until it returns done,
    // which means that all work is ordered.
    void begin(const std::vector<Submission*>& together);
    // Failed: failure() is an error of the message only, not of the communicator. It is the same on
    // all ranks.
    Step step();
    const Failure& failure() const { return failure_; }

    // Collective: returns when all GPUs have executed everything. Do not call it after a failure.
    Failure close();

  private:
    bool connect();
    sys::Result<void> make_parts();
    bool look_for_errors();
    void fail_all(const std::string& why);
    void start_next();
    void pack();
    void unpack();
    template <class Place>
    void copy_parts(Place place);

    Communicator& comm_;
    const Open open_;
    const Tell tell_;
    const std::size_t buffer_bytes_;

    std::mutex lock_;  // guards the members below
    int number_ = 0;
    Gpu gpu_;  // no device: not opened yet
    std::vector<Device::Event> unused_;

    // Used by the thread that drives the queue. All are valid if communicator_ is not null.
    std::unique_ptr<DeviceCommunicator> communicator_;
    std::optional<Orders> orders_;
    std::byte* buffer_ = nullptr;
    Device::Stream stream_ = nullptr;
    Device::Event done_ = nullptr;

    // The current message.
    std::vector<const Part*> parts_;
    std::vector<Device::Event> marks_;
    std::size_t first_ = 0, next_ = 0;  // first current part, and the one after the last
    DeviceCommunicator::Request* request_ = nullptr;
    Failure failure_;
};

}  // namespace batchai::coll
