// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "launcher/common/say.hpp"
#include "sys/clock.hpp"

namespace batchai::launcher {
namespace {

constexpr std::chrono::seconds kStall{10};
constexpr int kMostStalls = 6;  // of a limited start; then a silent node counts as lost
constexpr std::chrono::milliseconds kProgress{500};

}  // namespace

Nodes::Nodes(Loop& loop, const std::vector<std::string>& names, int radix, RootEvents& events)
    : loop_(loop),
      radix_(radix),
      events_(events),
      stall_(loop, [this] { on_stall(); }),
      progress_(loop, [this] { show_progress(); }) {
    nodes_.resize(names.size());
    for (std::size_t node = 0; node < names.size(); ++node) nodes_[node].name = names[node];
}

sys::Result<void> Nodes::open(std::vector<Listener> listeners, const std::string& key) {
    auto made = TlsKey::make(key);
    if (!made) return made.error();
    key_ = std::move(*made);
    door_ = std::make_unique<Door>(loop_, *key_, std::move(listeners),
                                   [this](Link link) { admit(std::move(link)); });
    stall_.start(kStall, kStall);
    progress_.start(kProgress, kProgress);
    return {};
}

void Nodes::admit(Link link) {
    auto& peer = *peers_.emplace_back(std::make_unique<Peer>());
    peer.channel = std::make_unique<Channel>(
        loop_, std::move(link),
        Channel::Callbacks{[this, &peer](Kind kind, Reader& reader) {
                               if (peer.node >= 0)
                                   return events_.on_message(peer.node, kind, reader);
                               if (kind == Kind::hello) return on_hello(peer, reader);
                               peer.channel->close();
                           },
                           [this, &peer] {
                               if (peer.node >= 0) events_.on_agent_lost(peer.node);
                           }});
}

void Nodes::on_hello(Peer& peer, Reader& reader) {
    if (const auto reason = other_release(reader, BATCHAI_VERSION))
        return events_.on_failure(*reason);
    Hello hello;
    const bool welcome = decode(reader, hello) && hello.node >= 0 && hello.node < size() &&
                         nodes_[hello.node].channel == nullptr;
    if (!welcome) return peer.channel->close();
    peer.node = hello.node;
    Node& node = nodes_[hello.node];
    node.channel = peer.channel.get();
    node.offset = sys::wall_clock() - hello.clock;
    node.name = hello.name;
    node.hello = std::move(hello);
    if (++connected_ < size() || door_ == nullptr) return;
    close_door();
    stall_.stop();
    status_.clear();
    events_.on_connected();
}

void Nodes::close_door() {
    door_.reset();
    for (const auto& peer : peers_)
        if (peer->node < 0) peer->channel->close();
}

bool Nodes::all_prepared() const {
    return std::all_of(begin(), end(), [](const Node& node) { return node.prepared.has_value(); });
}

bool Nodes::all_done() const {
    return std::all_of(begin(), end(), [](const Node& node) { return node.done; });
}

bool Nodes::all_gone() const {
    return std::all_of(begin(), end(), [](const Node& node) {
        return node.channel == nullptr || node.channel->closed();
    });
}

std::string Nodes::names(const std::vector<int>& nodes) const {
    constexpr std::size_t kMost = 8;
    std::vector<std::string> list;
    for (int node : nodes) list.push_back(nodes_[node].name);
    if (list.size() > kMost) {
        const auto more = list.size() - kMost;
        list.resize(kMost);
        list.push_back(fmt::format("and {} more", more));
    }
    return fmt::format("{}", fmt::join(list, " "));
}

// Shows a status line to a user at a terminal until the ranks start.
void Nodes::show_progress() {
    if (connected_ < size())
        return status_.show(fmt::format("starting: {} of {} nodes", connected_, size()));
    const auto prepared =
        std::count_if(begin(), end(), [](const Node& node) { return node.prepared.has_value(); });
    status_.show(fmt::format("preparing: {} of {} nodes", prepared, size()));
}

void Nodes::stop_progress() {
    stall_.stop();
    progress_.stop();
    status_.clear();
}

void Nodes::on_stall() {
    status_.clear();
    std::vector<int> missing;
    for (int node = 0; node < size(); ++node)
        if (nodes_[node].channel == nullptr) missing.push_back(node);
    say(fmt::format("still waiting for {} of {} agents: {}", missing.size(), size(),
                    names(missing)));
    events_.on_late(missing, limited_ && ++stalls_ >= kMostStalls);
}

}  // namespace batchai::launcher
