// SPDX-License-Identifier: Apache-2.0
//
// Message: what this rank sends and receives as one: submissions that are reduced together in host
// memory or on the GPU, a caller's own operation, a bucket of the frozen schedule, or numbers that
// the queue itself adds up. It executes one at a time.
#pragma once

#include <vector>

#include "collectives/comm/engine.hpp"
#include "collectives/queue/device_messages.hpp"
#include "collectives/queue/pending.hpp"
#include "collectives/queue/schedule.hpp"

namespace batchai::coll {

class Message {
  public:
    // devices: null: no submissions of GPU memory.
    Message(Engine& engine, DeviceMessages* devices) : engine_(engine), devices_(devices) {}

    // Starts submissions with equal fusion keys, or one submission. Returns done or failed if it
    // has ended: a caller's own operation.
    Step start(std::vector<Submission*> together);
    // Takes the submissions of a bucket, and starts it; or starts it with this rank's veto.
    void take(const Schedule::Bucket& bucket, const OwnRequests& requests);
    void start(const Schedule::Bucket& bucket, bool veto);
    // Starts to add up numbers over all ranks.
    void add_up(std::vector<double>& numbers);

    // Makes progress, without waiting. failed: failure() is an error of the message only. After a
    // failure of the engine it does not end; call abandon().
    Step step();
    const Failure& failure() const { return failure_; }
    // Whether a rank has vetoed the bucket.
    bool is_vetoed() const { return vetoed_; }
    const std::vector<Submission*>& submissions() const { return submissions_; }
    void abandon() { on_device_ = false; }

  private:
    Step call_caller(const Submission& submission);
    void start_parts();
    void start_call(const FusionKey& key, std::size_t elements, bool* vetoed);
    void add_piece(const Part& part);

    Engine& engine_;
    DeviceMessages* const devices_;
    std::vector<Submission*> submissions_;
    std::size_t next_part_ = 0;  // of the only submission: the first one that was not started
    std::vector<Piece> pieces_;
    Engine::Request* request_ = nullptr;
    bool on_device_ = false, vetoed_ = false;
    alignas(8) std::byte head_[8];  // the veto number of a bucket (veto.hpp)
    Failure failure_;
};

}  // namespace batchai::coll
