// SPDX-License-Identifier: Apache-2.0
//
// Communicator: all ranks of the job, or some of them, from init to finalize. It owns what they
// have joined (join.hpp), and the engine that uses it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm/bootstrap.hpp"
#include "collectives/comm/engine.hpp"
#include "collectives/comm/join.hpp"

namespace batchai::coll {

class Communicator {
  public:
    // All ranks of the job. Collective: an error on one rank is an error on all.
    static sys::Result<std::unique_ptr<Communicator>> create();
    // Like create(), for ranks that find each other through `bootstrap`.
    static sys::Result<std::unique_ptr<Communicator>> create(std::unique_ptr<Bootstrap> bootstrap);
    // Makes a communicator of some of this one's ranks, in ascending order; null on the other
    // ranks. Collective over all ranks of this communicator. It must end before this one.
    sys::Result<std::unique_ptr<Communicator>> split(const std::vector<int>& ranks);
    // Makes a communicator of some ranks of this one's job, which find each other through
    // `bootstrap`. Collective over those ranks. Any thread may call it during operations of this
    // communicator. It must end before this one.
    sys::Result<std::unique_ptr<Communicator>> group(std::unique_ptr<Bootstrap> bootstrap);
    // The number of communicators from split() and group() that have not ended.
    std::size_t children() const { return children_; }
    // Collective: returns when all ranks have called it. Do not call it after a failure.
    Failure finalize();
    // Zeroed memory of this rank that the other ranks of its node can address (Regions). It lasts
    // until release() or the end of the communicator. Collective: an error on one rank is an error
    // on all, and then nothing changes.
    sys::Result<std::byte*> allocate(std::size_t bytes);
    // The region of memory from allocate(); 0: it is not from allocate().
    std::uint32_t region_of(const void* memory) const { return regions_->number_of(memory); }
    // Collective.
    Failure release(std::uint32_t region);
    // Makes all ranks of the job fail with this message, in all communicators. Any thread may call
    // it.
    void abort(const std::string& sentence);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    const Topology& topology() const { return joined_.roster.topology; }
    Engine& engine() { return *engine_; }
    Progress& progress() { return progress_; }
    // How long an operation may make no progress; 0: no limit.
    std::chrono::milliseconds timeout() const { return joined_.timeout; }
    // The algorithms and their message sizes, as text.
    std::string plan() const;

  private:
    explicit Communicator(bool shown) : progress_(shown) {}
    static sys::Result<std::unique_ptr<Communicator>> join(std::unique_ptr<Communicator> comm);
    Failure meet_for(Kind kind, std::uint32_t region = 0);
    sys::Result<void> check_memory(Bootstrap& ranks, std::size_t bytes) const;
    sys::Result<std::vector<Segment>> share(Bootstrap& ranks, std::size_t bytes) const;

    Progress progress_;
    // Destroyed from the last to the first, except the wire: see the destructor.
    std::unique_ptr<Bootstrap> bootstrap_;
    Communicator* parent_ = nullptr;
    Communicator* job_ = nullptr;  // null: this communicator has all ranks of the job
    std::atomic<std::size_t> children_ = 0;
    std::mutex ends_;  // guards the end of children, which any thread may end
    std::vector<std::unique_ptr<UcxWire>> retired_;  // wires of children that have ended
    Joined joined_;
    std::optional<Regions> regions_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace batchai::coll
