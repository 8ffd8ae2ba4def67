// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/join.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "collectives/comm/business_card.hpp"
#include "collectives/common/backoff.hpp"
#include "collectives/transport/devices.hpp"

namespace batchai::coll {
namespace {

constexpr std::chrono::seconds kRendezvousLimit(10);
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

sys::Result<void> Join::find_others() {
    const ReadMark mark = ReadMark::of_this_process();
    const Introduction own{node_name(), host_identity(), ::getpid(), mark.address, mark.number};
    if (auto done = bootstrap_.publish(kIntroduction, sys::encode(own)); !done) return done;
    std::vector<std::string> names;
    std::vector<int> pids;
    std::vector<ReadMark> marks;
    for (int rank = 0; rank < bootstrap_.size(); ++rank) {
        auto other = rank == bootstrap_.rank()
                         ? sys::Result<Introduction>(own)
                         : look_up<Introduction>(bootstrap_, rank, kIntroduction);
        if (!other) return other.error();
        one_host_ = one_host_ && other->host == own.host;
        // Ranks on different hosts are on different nodes, even if their node names are equal.
        names.push_back(other->node + '\n' + other->host);
        pids.push_back(other->pid);
        marks.push_back({other->pid, other->mark_address, other->mark});
    }
    made_.roster = {Topology::from_names(bootstrap_.rank(), names), std::move(pids), {}};
    if (topology_.nodes() == 1 && topology_.size > 1) made_.reader.emplace(std::move(marks));
    for (const std::vector<int>& ranks : topology_.members) {
        const std::string& name = names[ranks[0]];
        made_.roster.nodes.push_back(name.substr(0, name.find('\n')));
    }
    return {};
}

// A rank that cannot take part stays until all ranks know it, because they wait for it in every
// step.
sys::Result<void> Join::run() {
    if (auto found = find_others(); !found) return found;
    sys::Result<void> joined = prepare();
    BusinessCard own;
    if (joined && topology_.local_rank() == 0) own.memory = made_.node->path();
    if (joined) own.invitation = invitation_;
    if (joined && made_.wire != nullptr) {
        own.address = made_.wire->address();
        own.ports = made_.wire->ports();
    }
    if (auto done = bootstrap_.publish(kCard, sys::encode(own)); !done) return done;
    if (joined) joined = accept_cards();
    if (joined && made_.wire != nullptr && made_.wire->is_connected()) {
        link_ = measure_link(*made_.wire, topology_.node(), topology_.nodes(),
                             [this] { meet_rails(); });
    }
    if (joined && is_job_) joined = start_watch();
    return agree(joined);
}

// Waits until all rails of the node are connected, so that their cost is measured at the same time.
// It waits at most 100 ms, because a rail may be impossible to connect.
void Join::meet_rails() {
    constexpr std::chrono::milliseconds kPatience(100);
    made_.node->publish(made_.node->connected(made_.node->rank()), 1);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Backoff backoff;
    for (int rail = 0; rail < topology_.rails(); ++rail) {
        while (!Node::reached(made_.node->connected(rail), 1)) {
            if (std::chrono::steady_clock::now() > deadline) return;
            backoff.pause();
        }
    }
}

sys::Result<void> Join::prepare() {
    const auto limit = wanted_timeout();
    if (!limit) return limit.error();
    made_.timeout = *limit;
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
    if (is_job_) {
        if (auto done = prepare_watch(); !done) return done;
    }
    if (topology_.nodes() == 1 || topology_.local_rank() >= topology_.rails()) return {};
    auto wire = UcxWire::create(topology_.node(), topology_.nodes(), one_host_);
    if (!wire) return wire.error();
    made_.wire = std::move(*wire);
    return {};
}

// A rank without a card has failed and reports that itself. Then some ranks stay unconnected.
sys::Result<void> Join::accept_cards() {
    if (made_.node == nullptr) {
        const int first = topology_.members[topology_.node()][0];
        const auto card = look_up<BusinessCard>(bootstrap_, first, kCard);
        if (!card) return card.error();
        const std::string& path = card->memory;
        if (path.empty()) return {};
        auto memory = Segment::open(path, node_bytes(true));
        if (!memory) return memory.error().in(fmt::format("memory of rank {}", first));
        use(std::move(*memory));
    }
    for (int node = 0; made_.wire != nullptr && node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const auto card = look_up<BusinessCard>(bootstrap_, topology_.rail_rank(node), kCard);
        if (!card) return card.error();
        const std::string& address = card->address;
        if (address.empty()) return {};
        if (auto done = made_.wire->connect(node, address); !done) {
            return done.error().in(fmt::format("connecting to rank {} on node {}",
                                               topology_.rail_rank(node),
                                               made_.roster.nodes[static_cast<std::size_t>(node)]));
        }
    }
    return {};
}

// Either all ranks get a communicator or none does. All ranks use the same cost of links.
sys::Result<void> Join::agree(const sys::Result<void>& own) {
    JoinResult result;
    if (!own) result.error = own.error().message;
    if (own && link_) result.links.push_back(*link_);
    result.reads = own && made_.reader && may_read_ && made_.reader->reaches_all();
    if (auto done = bootstrap_.publish(kResult, sys::encode(result)); !done) return done;
    if (!own) return own;
    std::vector<Link> links = std::move(result.links);
    bool all_read = result.reads;
    for (int rank = 0; rank < topology_.size; ++rank) {
        if (rank == topology_.rank) continue;
        const auto other = look_up<JoinResult>(bootstrap_, rank, kResult);
        if (!other) return other.error();
        if (!other->error.empty()) {
            return sys::Error{fmt::format("rank {} has failed: {}", rank, other->error)};
        }
        links.insert(links.end(), other->links.begin(), other->links.end());
        all_read = all_read && other->reads;
    }
    if (!all_read) made_.reader.reset();
    if (!links.empty()) link_ = typical(std::move(links));
    made_.planner = {link_.value_or(Link()), topology_.nodes(), algorithm_};
    const bool slow = link_ && link_->is_slow();
    if (slow && topology_.local_rank() == 0) {
        if (auto allocated = made_.node->allocate_all(); !allocated) return allocated;
    }
    made_.node->resize_slots(topology_.chunk_bytes(slow));
    if (!slow)
        made_.node->fault_in();  // slots for slow links are larger, and the links hide the faults
    made_.node->close();         // all ranks have opened it
    return {};
}

// Bytes of the node's memory, with the slots of a slow link or of a fast one.
std::size_t Join::node_bytes(bool slow) const {
    return Node::bytes_needed(topology_.local_size(), topology_.chunk_bytes(slow));
}

void Join::use(Segment memory) {
    made_.node = std::make_unique<Node>(std::move(memory), topology_.local_rank(),
                                        topology_.local_size(), topology_.chunk_bytes(true));
}

sys::Result<void> Join::prepare_watch() {
    const auto limits = limits_from_environment();
    if (!limits) return limits.error();
    made_.limits = *limits;
    if (const auto fault = fault_from_environment(); !fault) return fault.error();
    const std::vector<std::string> addresses = network_addresses(one_host_);
    const bool meets = topology_.nodes() > 1 && topology_.local_rank() == 0;
    if (!meets || addresses.empty()) return {};
    invitation_.addresses = addresses;
    if (made_.limits.node.count() == 0) return {};
    auto rendezvous = Rendezvous::open(addresses);
    if (!rendezvous) return rendezvous.error();
    rendezvous_ = std::move(*rendezvous);
    invitation_ = rendezvous_->invitation();
    return {};
}

sys::Result<std::vector<Invitation>> Join::invitations() const {
    std::vector<Invitation> invitations(topology_.nodes());
    for (int node = 0; node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const auto card = look_up<BusinessCard>(bootstrap_, made_.roster.leader(node), kCard);
        if (!card) return card.error();
        if (!card->invitation.is_valid())
            return sys::Error{"the invitation of the watchdog of " + made_.roster.node(node) +
                              " is malformed"};
        invitations[node] = card->invitation;
    }
    return invitations;
}

// Empty on one host: there all nodes have the same address, and no cable can be cut.
sys::Result<std::vector<Listeners>> Join::listeners_of(
    const std::vector<Invitation>& invitations) const {
    std::vector<Listeners> listeners(topology_.nodes());
    if (one_host_ || made_.wire == nullptr) return listeners;
    for (int node = 0; node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const auto card = look_up<BusinessCard>(bootstrap_, topology_.rail_rank(node), kCard);
        if (!card) return card.error();
        listeners[node] = {invitations[node].addresses, card->ports};
    }
    return listeners;
}

// The neighbours' watchdogs start at about the same time.
sys::Result<void> Join::start_watch() {
    if (made_.node == nullptr) return {};  // a rank has failed, and reports that itself
    if (const auto fault = fault_from_environment(); fault && fault->rank == topology_.rank) {
        made_.fault.emplace(*fault, *made_.node);
    }
    if (topology_.size == 1 || made_.limits.none()) return {};
    const auto found = invitations();
    if (!found) return found.error();
    std::vector<Neighbour> neighbours;
    if (rendezvous_) {
        auto met = rendezvous_->meet(made_.roster, *found, kRendezvousLimit);
        rendezvous_.reset();
        if (!met) return met.error();
        neighbours = std::move(*met);
    }
    auto listeners = listeners_of(*found);
    if (!listeners) return listeners.error();
    auto watchdog = Watchdog::start(
        made_.roster, *made_.node, made_.limits, std::move(neighbours),
        Sockets(made_.wire == nullptr ? std::vector<std::uint16_t>() : made_.wire->ports(),
                std::move(*listeners), made_.limits.node));
    if (!watchdog) return watchdog.error();
    made_.watchdog = std::move(*watchdog);
    return {};
}

}  // namespace batchai::coll
