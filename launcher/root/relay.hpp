// SPDX-License-Identifier: Apache-2.0
//
// Relay: the root's part of PMIx and of Gloo's rendezvous. It joins fences. It passes direct modex
// requests to the node of the rank, and events to all nodes. It has the published names and the
// values of Horovod's Gloo.
#pragma once

#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/common/channel.hpp"
#include "launcher/common/fence_table.hpp"
#include "launcher/common/jobs.hpp"
#include "launcher/common/message_pmix.hpp"
#include "launcher/gloo/key_values.hpp"
#include "launcher/root/nodes.hpp"

namespace batchai::launcher {

// Values that ranks have published by name (PMIx_Publish, MPI_Publish_name).
class PublishedNames {
  public:
    // False: one of the names is taken, and nothing is stored.
    bool publish(const std::vector<Item>& items);
    // Returns the items that exist.
    std::vector<Item> lookup(const std::vector<std::string>& keys) const;
    // Removes items of the owner; without keys all of them.
    void unpublish(std::uint32_t owner, const std::vector<std::string>& keys);

  private:
    std::map<std::string, Item> items_;
};

class Relay {
  public:
    Relay(Nodes& nodes, const Jobs& jobs)
        : nodes_(nodes), jobs_(jobs), fences_(nodes.tree(), kRoot) {}
    // The launch has its first job.
    void begin() { values_ = gloo::KeyValues(jobs_.map()); }

    void on_message(int node, Kind kind, Reader& reader);

    // A rank has ended before it finished with PMIx.
    void on_gone(const RankEnd& end);
    // An ended rank for which others wait in PMIx; -1: none.
    int awaited() const;

    // The oldest unfinished fence, and the nodes for which it may wait.
    std::optional<FenceTable::Missing> missing() const { return fences_.missing(jobs_.map()); }

  private:
    struct Waiting {
        int node;
        Lookup lookup;
    };
    void finish(const Fence& whole);
    void publish(int node, const Publish& message);
    bool answer(const Waiting& waiting);

    Nodes& nodes_;
    const Jobs& jobs_;
    FenceTable fences_;
    std::uint64_t next_serial_ = 1;
    std::vector<int> gone_;                 // ended ranks that had joined
    std::set<int> broken_;                  // nodes whose library misses a local rank in a fence
    int missing_rank_ = -1;                 // an ended rank that a fence needs; -1: none
    std::vector<int> never_joined_;         // ended ranks that had not joined
    std::set<std::pair<int, int>> joined_;  // nodes with ranks in PMIx: (Job::first, node)
    PublishedNames published_;
    std::list<Waiting> waiting_;
    gloo::KeyValues values_;
};

}  // namespace batchai::launcher
