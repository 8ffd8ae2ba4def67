// SPDX-License-Identifier: Apache-2.0
//
// Viewers: lets the job's user watch the job (`batchai top`). It listens at a port of its own, and
// writes the port and a new key into the file `view` of the job's record, which only the user can
// read. While a viewer is connected it asks the agents each second what their ranks do, and sends
// each viewer one View: the JSON document that docs/architecture.md describes. Without viewers it
// does nothing. A viewer that does not read misses documents, and costs no memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/root/nodes.hpp"

namespace batchai::launcher {

// What a viewer is told about the job as a whole.
struct JobFacts {
    int attempt = 0, max_restarts = 0;
    int requeues = 0;
};

// What is known of a node. sampled: what its agent has said last; nullopt: nothing yet, or the node
// is done.
struct NodeView {
    std::string name;
    int gpus = 0;
    std::optional<Sampled> sampled;
};

// The ranks for which the others wait, and how long: the mean share of the others' time. Empty: no
// rank is much less in the others' debt than they in its.
struct Culprits {
    std::vector<int> ranks;
    double share = 0;
};
Culprits find_culprits(const std::vector<NodeView>& nodes);

// The document, on one line.
std::string view_of(const JobFacts& facts, const std::vector<NodeView>& nodes, const RankMap& map,
                    double time);

class Viewers {
  public:
    // map: the job's, which is empty until all agents have connected.
    Viewers(Loop& loop, Nodes& nodes, const RankMap& map);

    // record: the record directory.
    sys::Result<void> open(const std::vector<std::string>& addresses, const std::string& record,
                           const JobFacts& facts);
    // False: it is another kind of message.
    bool on_message(int node, Kind kind, Reader& reader);
    // No more viewers.
    void close();

  private:
    static constexpr std::size_t kMost = 16;

    void admit(Link link);
    void ask();
    void tell();

    Loop& loop_;
    Nodes& nodes_;
    const RankMap& map_;
    JobFacts facts_;
    std::string file_;     // empty: not open
    std::string content_;  // of the file, with the key
    std::optional<TlsKey> key_;
    std::unique_ptr<Door> door_;
    std::vector<std::unique_ptr<Channel>> viewers_;
    Timer second_;
    std::vector<NodeView> views_;  // of each node
    int unanswered_ = 0;           // nodes that have not answered the last question
};

// `batchai-launch --attach FILE`: prints the documents that a job's Viewers sends, a line each,
// until the job ends. file: `view` in the job's record. Returns the exit code. If its output is not
// read, it waits, and the job does not.
int attach(const std::string& file);

}  // namespace batchai::launcher
