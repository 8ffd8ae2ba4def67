// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace batchai::coll {
namespace {

constexpr double kDefaultTimeout = 600;  // seconds

sys::Result<std::chrono::milliseconds> timeout() {
    const char* text = std::getenv("BATCHAI_COLL_TIMEOUT");
    double seconds = kDefaultTimeout;
    if (text != nullptr && *text != '\0') {
        char* end = nullptr;
        seconds = std::strtod(text, &end);
        if (*end != '\0' || !(seconds >= 0 && seconds < 1e9)) {
            return sys::Error{
                fmt::format("BATCHAI_COLL_TIMEOUT: '{}' is not a number of seconds", text)};
        }
    }
    return std::chrono::milliseconds(static_cast<long long>(seconds * 1000));
}

// What a rank tells all others first.
struct Introduction {
    std::string node, host;
    int pid = 0;

    std::string text() const { return fmt::format("{}\n{}\n{}", node, host, pid); }
    static Introduction from(const std::string& text) {
        Introduction it;
        std::istringstream lines(text);
        std::getline(lines, it.node);
        std::getline(lines, it.host);
        lines >> it.pid;
        // Ranks of different hosts are on different nodes, whatever their names.
        it.node += '\n' + it.host;
        return it;
    }
};

}  // namespace

sys::Result<std::unique_ptr<Communicator>> Communicator::create() {
    remove_signal_handlers();
    const auto limit = timeout();
    if (!limit) return limit.error();
    auto bootstrap = Bootstrap::open();
    if (!bootstrap) return bootstrap.error();
    std::unique_ptr<Communicator> comm(new Communicator);
    comm->bootstrap_ = std::move(*bootstrap);
    if (auto found = comm->find_others(); !found) return found.error();
    if (auto shared = comm->share_memory(); !shared) return shared.error();
    if (auto connected = comm->connect_nodes(); !connected) return connected.error();
    comm->engine_ =
        std::make_unique<Engine>(Context{comm->topology_, *comm->node_, comm->wire_.get()},
                                 comm->pids_, Patience{*limit, comm->crowded_});
    return comm;
}

sys::Result<void> Communicator::find_others() {
    const Introduction own{node_name(), host_name(), ::getpid()};
    if (auto done = bootstrap_->publish("introduction", own.text()); !done) return done;
    std::vector<std::string> names;
    std::vector<int> pids;
    unsigned neighbours = 0;
    for (int rank = 0; rank < bootstrap_->size(); ++rank) {
        std::string text = own.text();
        if (rank != bootstrap_->rank()) {
            auto found = bootstrap_->lookup(rank, "introduction");
            if (!found) return found.error();
            text = std::move(*found);
        }
        const Introduction other = Introduction::from(text);
        one_host_ = one_host_ && other.host == own.host;
        neighbours += other.host == own.host;
        names.push_back(other.node);
        pids.push_back(other.pid);
    }
    topology_ = Topology::from_names(bootstrap_->rank(), names);
    for (const int rank : topology_.members[topology_.node()]) pids_.push_back(pids[rank]);
    crowded_ = neighbours > std::thread::hardware_concurrency();
    return {};
}

// The lowest rank of the node creates the memory; the others open it once they know how.
sys::Result<void> Communicator::share_memory() {
    const int ranks = topology_.local_size();
    const std::size_t slot = chunk_bytes(topology_.largest_node());
    const std::size_t bytes = Node::bytes_needed(ranks, slot);
    const bool creates = topology_.local_rank() == 0;
    sys::Result<Segment> segment = sys::Error{"nobody has shared memory"};
    if (creates) segment = Segment::create(bytes);
    const std::string descriptor = creates ? segment ? std::to_string(segment->fd()) : "-" : "";
    if (auto done = bootstrap_->publish("memory", descriptor); !done) return done;
    if (!creates) {
        const int leader = topology_.members[topology_.node()][0];
        const auto fd = bootstrap_->lookup(leader, "memory");
        if (!fd) return fd.error();
        if (*fd == "-") return sys::Error{fmt::format("rank {} could not share memory", leader)};
        segment = Segment::open(pids_[0], std::atoi(fd->c_str()), bytes);
    }
    if (!segment) return segment.error();
    node_ = std::make_unique<Node>(std::move(*segment), topology_.local_rank(), ranks, slot);
    node_->attach();
    return {};
}

// A rank that cannot take part says so to the others ("-") before it leaves.
sys::Result<void> Communicator::connect_nodes() {
    const bool on_rail = topology_.nodes() > 1 && topology_.local_rank() < topology_.rails();
    sys::Result<std::unique_ptr<Wire>> wire = std::unique_ptr<Wire>();
    if (on_rail) wire = Wire::create(topology_.node(), topology_.nodes(), one_host_);
    const std::string address = !wire ? "-" : on_rail ? (*wire)->address() : "";
    if (auto done = bootstrap_->publish("wire", address); !done) return done;
    if (!wire) return wire.error();
    wire_ = std::move(*wire);

    // Everybody has opened the node's memory by now.
    node_->close_descriptor();
    if (!node_->all_attached()) return sys::Error{"a rank of this node could not share memory"};
    for (int node = 0; on_rail && node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const int rank = topology_.rail_rank(node);
        const auto other = bootstrap_->lookup(rank, "wire");
        if (!other) return other.error();
        if (*other == "-") return sys::Error{fmt::format("rank {} could not start UCX", rank)};
        if (auto done = wire_->connect(node, *other); !done) return done;
    }
    return {};
}

Failure Communicator::finalize() {
    Signature signature;
    signature.kind = Kind::finalize;
    if (engine_->wait(engine_->start({signature})) != BATCHAI_COLL_OK) return engine_->failure();
    // Nobody closes a connection before everybody has what was sent on it.
    if (wire_ != nullptr) wire_->flush();
    if (auto done = bootstrap_->fence(); !done) {
        return {BATCHAI_COLL_ERR_SYSTEM, done.error().in("finalize").message};
    }
    return {};
}

Communicator::~Communicator() {
    // The wire may still use the engine's and the node's memory.
    if (engine_ != nullptr) engine_->abandon();
    wire_.reset();
}

}  // namespace batchai::coll
