// SPDX-License-Identifier: Apache-2.0
//
// DeviceMessages: a queue's messages of tensors in the memory of this rank's GPU. They are packed
// into a buffer there, where they are several, reduced between all ranks (device/device_comm.hpp)
// and unpacked. All of that is ordered in a stream of its own, after what was in the caller's
// stream at the submission and before what is put there once the caller has been told of the end:
// nobody waits for the GPU.
//
// The GPU is opened with the first submission, and the ranks' GPUs find each other with the first
// message: a job without GPU memory has nothing of it.
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
    // Is told which ways were found and chosen (DeviceCommunicator::plan).
    using Tell = std::function<void(const std::string& plan)>;

    // buffer: bytes of it; tensors are packed up to so many.
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
    // Of that GPU: what a submission comes after, everything that is in the stream.
    sys::Result<Device::Event> mark(Device::Stream stream);
    // The event is not needed any more.
    void unmark(Device::Event event);
    // A message was done: what is put into the stream from here on comes after it. (After all that
    // have been done so far: callers wait for the last one, as a rule.)
    sys::Result<void> follow(Device::Stream stream);

    // For whoever drives the queue: a message, to be stepped until it is done, which means ordered.
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
