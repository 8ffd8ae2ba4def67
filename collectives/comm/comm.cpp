// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/comm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "collectives/comm/business_card.hpp"
#include "collectives/comm/group.hpp"
#include "collectives/common/backoff.hpp"

namespace batchai::coll {
namespace {

constexpr double kDefaultTimeout = 600;  // seconds

sys::Result<std::chrono::milliseconds> wanted_timeout() {
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

sys::Result<bool> wants_to_read() {
    const char* text = std::getenv("BATCHAI_COLL_READ");
    const std::string_view wanted = text == nullptr || *text == '\0' ? "1" : text;
    if (wanted != "0" && wanted != "1")
        return sys::Error{fmt::format("BATCHAI_COLL_READ: '{}' is not 0 or 1", wanted)};
    return wanted == "1";
}

// The median of each number.
Link typical(std::vector<Link> links) {
    const auto middle = [&](double Link::*number) {
        const auto at = links.begin() + static_cast<std::ptrdiff_t>((links.size() - 1) / 2);
        std::nth_element(links.begin(), at, links.end(),
                         [&](const Link& a, const Link& b) { return a.*number < b.*number; });
        return (*at).*number;
    };
    return {middle(&Link::latency), middle(&Link::per_byte), middle(&Link::overhead)};
}

}  // namespace

sys::Result<std::unique_ptr<Communicator>> Communicator::create() {
    auto bootstrap = bootstrap_through_pmix();
    if (!bootstrap) return bootstrap.error();
    return create(std::move(*bootstrap));
}

sys::Result<std::unique_ptr<Communicator>> Communicator::create(
    std::unique_ptr<Bootstrap> bootstrap) {
    remove_signal_handlers();
    std::unique_ptr<Communicator> comm(new Communicator(true));
    comm->bootstrap_ = std::move(bootstrap);
    return join(std::move(comm));
}

// Ranks outside the new communicator take part while its ranks publish.
sys::Result<std::unique_ptr<Communicator>> Communicator::split(const std::vector<int>& ranks) {
    auto some = std::make_unique<Group>(*engine_, topology_.rank, topology_.size, ranks);
    if (!some->is_member()) {
        for (const char* key : {kIntroduction, kCard, kResult}) {
            if (auto done = some->publish(key, ""); !done) return done.error();
        }
        return std::unique_ptr<Communicator>();
    }
    return group(std::move(some));
}

sys::Result<std::unique_ptr<Communicator>> Communicator::group(
    std::unique_ptr<Bootstrap> bootstrap) {
    std::unique_ptr<Communicator> comm(new Communicator(false));
    comm->bootstrap_ = std::move(bootstrap);
    comm->job_ = job_ == nullptr ? this : job_;
    auto joined = join(std::move(comm));
    if (joined) {
        (*joined)->parent_ = this;
        ++children_;
    }
    return joined;
}

sys::Result<std::unique_ptr<Communicator>> Communicator::join(std::unique_ptr<Communicator> comm) {
    if (auto found = comm->find_others(); !found) return found.error();
    if (auto met = comm->meet(); !met) return met.error();
    comm->regions_.emplace(comm->topology_.local_rank());
    const Communicator& job = comm->job_ == nullptr ? *comm : *comm->job_;
    const Context context{comm->topology_,
                          *comm->node_,
                          comm->wire_.get(),
                          comm->planner(),
                          &*comm->regions_,
                          comm->job_ == nullptr ? nullptr : job.node_.get(),
                          comm->fault_ ? &*comm->fault_ : nullptr,
                          comm->reader_ ? &*comm->reader_ : nullptr};
    const auto patience =
        job.watchdog_ == nullptr ? Limits::Milliseconds(0) : job.limits_.process / 2;
    comm->engine_ = std::make_unique<Engine>(context, comm->timeout_, comm->progress_, patience);
    comm->progress_.joined();
    return comm;
}

sys::Result<void> Communicator::find_others() {
    const ReadMark mark = ReadMark::of_this_process();
    const Introduction own{node_name(), host_identity(), ::getpid(), mark.address, mark.number};
    if (auto done = bootstrap_->publish(kIntroduction, sys::encode(own)); !done) return done;
    std::vector<std::string> names;
    std::vector<int> pids;
    std::vector<ReadMark> marks;
    for (int rank = 0; rank < bootstrap_->size(); ++rank) {
        auto other = rank == bootstrap_->rank()
                         ? sys::Result<Introduction>(own)
                         : look_up<Introduction>(*bootstrap_, rank, kIntroduction);
        if (!other) return other.error();
        one_host_ = one_host_ && other->host == own.host;
        // Ranks on different hosts are on different nodes, even if their node names are equal.
        names.push_back(other->node + '\n' + other->host);
        pids.push_back(other->pid);
        marks.push_back({other->pid, other->mark_address, other->mark});
    }
    topology_ = Topology::from_names(bootstrap_->rank(), names);
    if (topology_.nodes() == 1 && topology_.size > 1) reader_.emplace(std::move(marks));
    roster_ = {topology_, std::move(pids), {}};
    for (const std::vector<int>& ranks : topology_.members) {
        const std::string& name = names[ranks[0]];
        roster_.nodes.push_back(name.substr(0, name.find('\n')));
    }
    return {};
}

// A rank that cannot take part stays until all ranks know it, because they wait for it in every
// step.
sys::Result<void> Communicator::meet() {
    sys::Result<void> joined = prepare();
    BusinessCard own;
    if (joined && topology_.local_rank() == 0) own.memory = node_->path();
    if (joined && !invitation_.addresses.empty()) own.invitation = invitation_.text();
    if (joined && wire_ != nullptr) {
        own.address = wire_->address();
        own.ports = wire_->ports();
    }
    if (auto done = bootstrap_->publish(kCard, sys::encode(own)); !done) return done;
    if (joined) joined = accept_cards();
    if (joined && wire_ != nullptr && wire_->is_connected()) {
        link_ = measure_link(*wire_, topology_.node(), topology_.nodes(), [this] { meet_rails(); });
    }
    if (joined && job_ == nullptr) joined = start_watch();
    return agree(joined);
}

// Waits until all rails of the node are connected, so that their cost is measured at the same time.
// It waits at most 100 ms, because a rail may be impossible to connect.
void Communicator::meet_rails() {
    constexpr std::chrono::milliseconds kPatience(100);
    node_->publish(node_->connected(node_->rank()), 1);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Backoff backoff;
    for (int rail = 0; rail < topology_.rails(); ++rail) {
        while (!Node::reached(node_->connected(rail), 1)) {
            if (std::chrono::steady_clock::now() > deadline) return;
            backoff.pause();
        }
    }
}

sys::Result<void> Communicator::prepare() {
    const auto limit = wanted_timeout();
    if (!limit) return limit.error();
    timeout_ = *limit;
    const auto named = named_algorithm();
    if (!named) return named.error();
    algorithm_ = *named;
    const auto reads = wants_to_read();
    if (!reads) return reads.error();
    may_read_ = *reads;
    if (topology_.local_rank() == 0) {
        // The extra memory that only a slow link needs is allocated after the link was measured.
        auto memory = Segment::create(node_bytes(true), node_bytes(false));
        if (!memory) return memory.error();
        use(std::move(*memory));
    }
    if (job_ == nullptr) {
        if (auto done = prepare_watch(); !done) return done;
    }
    if (topology_.nodes() == 1 || topology_.local_rank() >= topology_.rails()) return {};
    auto wire = UcxWire::create(topology_.node(), topology_.nodes(), one_host_);
    if (!wire) return wire.error();
    wire_ = std::move(*wire);
    return {};
}

// A rank without a card has failed and reports that itself. Then some ranks stay unconnected.
sys::Result<void> Communicator::accept_cards() {
    if (node_ == nullptr) {
        const int first = topology_.members[topology_.node()][0];
        const auto card = look_up<BusinessCard>(*bootstrap_, first, kCard);
        if (!card) return card.error();
        const std::string& path = card->memory;
        if (path.empty()) return {};
        auto memory = Segment::open(path, node_bytes(true));
        if (!memory) return memory.error().in(fmt::format("memory of rank {}", first));
        use(std::move(*memory));
    }
    for (int node = 0; wire_ != nullptr && node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const auto card = look_up<BusinessCard>(*bootstrap_, topology_.rail_rank(node), kCard);
        if (!card) return card.error();
        const std::string& address = card->address;
        if (address.empty()) return {};
        if (auto done = wire_->connect(node, address); !done) {
            return done.error().in(fmt::format("connecting to rank {} on node {}",
                                               topology_.rail_rank(node),
                                               roster_.nodes[static_cast<std::size_t>(node)]));
        }
    }
    return {};
}

// Either all ranks get a communicator or none does. All ranks use the same cost of links.
sys::Result<void> Communicator::agree(const sys::Result<void>& own) {
    JoinResult result;
    if (!own) result.error = own.error().message;
    if (own && link_) result.links.push_back(*link_);
    result.reads = own && reader_ && may_read_ && reader_->reaches_all();
    if (auto done = bootstrap_->publish(kResult, sys::encode(result)); !done) return done;
    if (!own) return own;
    std::vector<Link> links = std::move(result.links);
    bool all_read = result.reads;
    for (int rank = 0; rank < topology_.size; ++rank) {
        if (rank == topology_.rank) continue;
        const auto other = look_up<JoinResult>(*bootstrap_, rank, kResult);
        if (!other) return other.error();
        if (!other->error.empty()) {
            return sys::Error{fmt::format("rank {} has failed: {}", rank, other->error)};
        }
        links.insert(links.end(), other->links.begin(), other->links.end());
        all_read = all_read && other->reads;
    }
    if (!all_read) reader_.reset();
    if (!links.empty()) link_ = typical(std::move(links));
    const bool slow = link_ && link_->is_slow();
    if (slow && topology_.local_rank() == 0) {
        if (auto allocated = node_->allocate_all(); !allocated) return allocated;
    }
    node_->resize_slots(topology_.chunk_bytes(slow));
    if (!slow) node_->fault_in();  // slots for slow links are larger, and the links hide the faults
    node_->close();                // all ranks have opened it
    return {};
}

Planner Communicator::planner() const {
    return {link_.value_or(Link()), topology_.nodes(), algorithm_};
}

std::string Communicator::plan() const {
    const std::string shape =
        fmt::format("{} rank{} on {} node{}", topology_.size, topology_.size == 1 ? "" : "s",
                    topology_.nodes(), topology_.nodes() == 1 ? "" : "s");
    if (topology_.nodes() == 1) return shape + ": shared memory";
    const int rails = topology_.rails();
    return fmt::format("{}, {} rail{}: {}", shape, rails, rails == 1 ? "" : "s",
                       planner().text(topology_.chunk_bytes(false), node_->slot_bytes(), rails));
}

// Bytes of the node's memory, with the slots of a slow link or of a fast one.
std::size_t Communicator::node_bytes(bool slow) const {
    return Node::bytes_needed(topology_.local_size(), topology_.chunk_bytes(slow));
}

void Communicator::use(Segment memory) {
    node_ = std::make_unique<Node>(std::move(memory), topology_.local_rank(),
                                   topology_.local_size(), topology_.chunk_bytes(true));
}

Failure Communicator::finalize() {
    if (Failure failure = meet_for(Kind::finalize); failure.status != BATCHAI_COLL_OK) {
        return failure;
    }
    // No rank closes a connection before the others have received all data sent on it.
    if (wire_ != nullptr) wire_->flush();
    if (auto done = bootstrap_->leave(); !done) {
        return {BATCHAI_COLL_ERR_SYSTEM, done.error().in("finalize").message};
    }
    return {};
}

void Communicator::abort(const std::string& sentence) {
    Communicator& job = job_ == nullptr ? *this : *job_;
    job.node_->fail({BATCHAI_COLL_ERR_ABORTED,
                     fmt::format("rank {} has aborted: {}", job.topology_.rank, sentence)});
    if (job.watchdog_ != nullptr) job.watchdog_->wake();
}

Communicator::~Communicator() {
    // The wire may still use the engine's and the node's memory.
    if (engine_ != nullptr) engine_->abandon();
    const bool failed = engine_ != nullptr && engine_->failure().status != BATCHAI_COLL_OK;
    if (parent_ == nullptr || failed) wire_.reset();
    if (parent_ == nullptr) return;
    // Other ranks may still wait for the last messages, so the connections stay until the parent
    // ends.
    const std::lock_guard lock(parent_->ends_);
    --parent_->children_;
    if (wire_ != nullptr) parent_->retired_.push_back(std::move(wire_));
}

}  // namespace batchai::coll
