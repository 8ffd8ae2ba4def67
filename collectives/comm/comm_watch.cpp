// SPDX-License-Identifier: Apache-2.0
//
// Communicator: prepares and starts its watchdog.
#include "collectives/comm/business_card.hpp"
#include "collectives/comm/comm.hpp"
#include "collectives/transport/devices.hpp"

namespace batchai::coll {
namespace {

constexpr std::chrono::seconds kRendezvousLimit(10);

}  // namespace

sys::Result<void> Communicator::prepare_watch() {
    const auto limits = limits_from_environment();
    if (!limits) return limits.error();
    limits_ = *limits;
    if (const auto fault = fault_from_environment(); !fault) return fault.error();
    const std::vector<std::string> addresses = network_addresses(one_host_);
    const bool meets = topology_.nodes() > 1 && topology_.local_rank() == 0;
    if (!meets || addresses.empty()) return {};
    invitation_.addresses = addresses;
    if (limits_.node.count() == 0) return {};
    auto rendezvous = Rendezvous::open(addresses);
    if (!rendezvous) return rendezvous.error();
    rendezvous_ = std::move(*rendezvous);
    invitation_ = rendezvous_->invitation();
    return {};
}

sys::Result<std::vector<Invitation>> Communicator::invitations() const {
    std::vector<Invitation> invitations(topology_.nodes());
    for (int node = 0; node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const auto card = look_up<BusinessCard>(*bootstrap_, roster_.leader(node), kCard);
        if (!card) return card.error();
        const std::string& text = card->invitation;
        if (text.empty()) continue;
        auto invitation = Invitation::from(text);
        if (!invitation) return invitation.error().in(roster_.node(node));
        invitations[node] = std::move(*invitation);
    }
    return invitations;
}

// Empty on one host: there all nodes have the same address, and no cable can be cut.
sys::Result<std::vector<Listeners>> Communicator::listeners_of(
    const std::vector<Invitation>& invitations) const {
    std::vector<Listeners> listeners(topology_.nodes());
    if (one_host_ || wire_ == nullptr) return listeners;
    for (int node = 0; node < topology_.nodes(); ++node) {
        if (node == topology_.node()) continue;
        const auto card = look_up<BusinessCard>(*bootstrap_, topology_.rail_rank(node), kCard);
        if (!card) return card.error();
        listeners[node] = {invitations[node].addresses, card->ports};
    }
    return listeners;
}

// The neighbours' watchdogs start at about the same time.
sys::Result<void> Communicator::start_watch() {
    if (node_ == nullptr) return {};  // a rank has failed, and reports that itself
    if (const auto fault = fault_from_environment(); fault && fault->rank == topology_.rank) {
        fault_.emplace(*fault, *node_);
    }
    if (topology_.size == 1 || limits_.none()) return {};
    const auto found = invitations();
    if (!found) return found.error();
    std::vector<Neighbour> neighbours;
    if (rendezvous_) {
        auto met = rendezvous_->meet(roster_, *found, kRendezvousLimit);
        rendezvous_.reset();
        if (!met) return met.error();
        neighbours = std::move(*met);
    }
    auto listeners = listeners_of(*found);
    if (!listeners) return listeners.error();
    auto watchdog =
        Watchdog::start(roster_, *node_, limits_, std::move(neighbours),
                        Sockets(wire_ == nullptr ? std::vector<std::uint16_t>() : wire_->ports(),
                                std::move(*listeners), limits_.node));
    if (!watchdog) return watchdog.error();
    watchdog_ = std::move(*watchdog);
    return {};
}

}  // namespace batchai::coll
