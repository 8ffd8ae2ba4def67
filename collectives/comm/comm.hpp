// SPDX-License-Identifier: Apache-2.0
//
// Communicator: all ranks of the job, or some of them, from init to finalize. It owns their
// topology, the node's shared memory, the wire to the other nodes, and the engine that uses both.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm/bootstrap.hpp"
#include "collectives/comm/engine.hpp"
#include "collectives/transport/ucx.hpp"
#include "collectives/watch/watchdog.hpp"

namespace batchai::coll {

class Communicator {
  public:
    // All ranks of the job. Collective: an error on one rank is an error on all.
    static sys::Result<std::unique_ptr<Communicator>> create();
    // The same, of ranks that find each other in their own way.
    static sys::Result<std::unique_ptr<Communicator>> create(std::unique_ptr<Bootstrap> bootstrap);
    // Some of its ranks, ascending; null on the others. Collective over all of this one's ranks.
    // It must end before this one.
    sys::Result<std::unique_ptr<Communicator>> split(const std::vector<int>& ranks);
    // Some ranks of this one's job, which find each other in their own way; collective over those.
    // Any thread, beside operations of this one. It must end before this one.
    sys::Result<std::unique_ptr<Communicator>> group(std::unique_ptr<Bootstrap> bootstrap);
    // How many communicators of split() and group() have not ended.
    std::size_t children() const { return children_; }
    // Collective: returns when all ranks have called it. Not after a failure.
    Failure finalize();
    // Memory of this rank that the other ranks of its node can address (Regions), zero, until it is
    // released or the communicator ends. Collective; an error on one rank is an error on all, and
    // all is as it was before.
    sys::Result<std::byte*> allocate(std::size_t bytes);
    // Of allocate(); 0: none.
    std::uint32_t region_of(const void* memory) const { return regions_->number_of(memory); }
    // Collective.
    Failure release(std::uint32_t region);
    // All ranks of the job fail with this sentence, in this communicator and in all others. Any
    // thread.
    void abort(const std::string& sentence);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    const Topology& topology() const { return topology_; }
    Engine& engine() { return *engine_; }
    Progress& progress() { return progress_; }
    // Without any progress; 0: none.
    std::chrono::milliseconds timeout() const { return timeout_; }
    // The algorithms and when they are used, as text.
    std::string plan() const;

  private:
    explicit Communicator(bool shown) : progress_(shown) {}
    static sys::Result<std::unique_ptr<Communicator>> join(std::unique_ptr<Communicator> comm);
    sys::Result<void> find_others();
    sys::Result<void> meet();
    void meet_rails();
    sys::Result<void> prepare();
    sys::Result<void> prepare_watch();
    sys::Result<void> accept_offers();
    sys::Result<std::vector<Invitation>> invitations() const;
    sys::Result<std::vector<Listeners>> listeners_of(
        const std::vector<Invitation>& invitations) const;
    sys::Result<void> start_watch();
    sys::Result<void> agree(const sys::Result<void>& own);
    Failure meet_for(Kind kind, std::uint32_t region = 0);
    sys::Result<void> check_memory(Bootstrap& ranks, std::size_t bytes) const;
    sys::Result<std::vector<Segment>> share(Bootstrap& ranks, std::size_t bytes) const;
    Planner planner() const;
    std::size_t node_bytes(bool slow) const;
    void use(Segment memory);

    Progress progress_;
    // Destroyed from the last to the first, except the wire: see the destructor.
    std::unique_ptr<Bootstrap> bootstrap_;
    Communicator* parent_ = nullptr;
    Communicator* job_ = nullptr;  // null: this is it
    std::atomic<std::size_t> children_ = 0;
    std::mutex ends_;                                // of children, in any thread
    std::vector<std::unique_ptr<UcxWire>> retired_;  // of children that have ended
    Topology topology_;
    std::chrono::milliseconds timeout_{0};
    bool one_host_ = true;
    Roster roster_;
    Limits limits_;
    Invitation invitation_;           // of this node
    std::optional<Meeting> meeting_;  // in init
    std::optional<FaultPoint> fault_;
    std::optional<Algorithm> algorithm_;  // that is to be taken always
    std::optional<Link> link_;            // as measured by this rank; then the middle of all
    std::unique_ptr<Node> node_;
    std::optional<Regions> regions_;
    std::unique_ptr<Watchdog> watchdog_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<UcxWire> wire_;
};

}  // namespace batchai::coll
