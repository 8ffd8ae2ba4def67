// SPDX-License-Identifier: Apache-2.0
//
// DeviceMessages: a queue's messages of tensors in the memory of this rank's GPU. It packs several
// tensors into a buffer there, reduces it between all ranks (device/device_comm.hpp) and unpacks
// it. All of that is ordered in a stream of its own: after the work that was in the caller's stream
// at the submission, and before the work that the caller adds once it has been told of the end. So
// the host never waits for the GPU.
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
    // The GPU of a number, as batchai_coll_device_open has it.
    using Open = std::function<sys::Result<Gpu>(int number)>;
    // Gets the ways that were found and chosen (DeviceCommunicator::plan).
    using Tell = std::function<void(const std::string& plan)>;

    // buffer: its bytes, the limit for packing.
    DeviceMessages(Communicator& comm, Open open, Tell tell, std::size_t buffer)
        : comm_(comm), open_(std::move(open)), tell_(std::move(tell)), buffer_bytes_(buffer) {}
    DeviceMessages(const DeviceMessages&) = delete;
    DeviceMessages& operator=(const DeviceMessages&) = delete;
    // The communicator, where there is one, is the GPU's last owner, and knows how to end it.
    ~DeviceMessages() { gpu_ = {}; }

    // For callers, in any thread.
    //
    // The GPU of that number, which is the only one of this queue from then on.
    sys::Result<Device*> device(int number);
    // An event on that GPU after everything that is in the stream now: a submission comes after it.
    sys::Result<Device::Event> mark(Device::Stream stream);
    // The event is not needed any more.
    void unmark(Device::Event event);
    // A message was done: work that is put into the stream from here on comes after it. (It comes
    // after all messages done so far: callers usually wait for the last one.)
    sys::Result<void> follow(Device::Stream stream);

    // For the thread that drives the queue: starts a message. Step it until it is done: ordered.
    void begin(const std::vector<Submission*>& together);
    // Failed: failure() is not the communicator's, and is the same on all ranks.
    Step step();
    const Failure& failure() const { return failure_; }

    // Collective: returns when all GPUs have done everything. Not after a failure.
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

    std::mutex lock_;  // of what follows
    int number_ = 0;
    Gpu gpu_;  // no device: not opened yet
    std::vector<Device::Event> unused_;

    // The driver's; all of it is there once communicator_ is.
    std::unique_ptr<DeviceCommunicator> communicator_;
    std::optional<Orders> orders_;
    std::byte* buffer_ = nullptr;
    Device::Stream stream_ = nullptr;
    Device::Event done_ = nullptr;

    // Of the message under way.
    std::vector<const Part*> parts_;
    std::vector<Device::Event> marks_;
    std::size_t first_ = 0, next_ = 0;  // parts under way; one past them
    DeviceCommunicator::Request* request_ = nullptr;
    Failure failure_;
};

}  // namespace batchai::coll
