// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/branch.hpp"

#include <algorithm>

namespace batchai::launcher {

Branch::Branch(Loop& loop, const Bootstrap& bootstrap, TlsKey key, Channel& root,
               AgentEvents& events)
    : loop_(loop),
      bootstrap_(bootstrap),
      key_(std::move(key)),
      root_(root),
      events_(events),
      fences_(bootstrap.tree, bootstrap.node) {}

// ---- connections --------------------------------------------------------------------------------

sys::Result<int> Branch::listen(const std::string& address) {
    if (bootstrap_.tree.children(bootstrap_.node).empty()) return 0;
    auto listener = listen_at(address, "the agents");
    if (!listener) return listener.error();
    const int port = listener->endpoint.port;
    std::vector<Listener> listeners;
    listeners.push_back(std::move(*listener));
    door_ = std::make_unique<Door>(loop_, key_, std::move(listeners),
                                   [this](Link link) { admit(std::move(link)); });
    return port;
}

void Branch::admit(Link link) {
    Child& child = *children_.emplace_back(std::make_unique<Child>());
    child.channel = std::make_unique<Channel>(
        loop_, std::move(link),
        Channel::Callbacks{[this, &child](Kind kind, Reader& reader) {
                               if (child.node < 0) {
                                   if (kind == Kind::tree_hello) return on_hello(child, reader);
                                   return child.channel->close();
                               }
                               Fence part;
                               if (kind == Kind::fence && decode(reader, part)) {
                                   add(child.node, std::move(part));
                               }
                               Left left;
                               if (kind == Kind::left && decode(reader, left)) leave(left);
                           },
                           [] {}});
}

void Branch::on_hello(Child& child, Reader& reader) {
    TreeHello hello;
    const auto expected = bootstrap_.tree.children(bootstrap_.node);
    const auto is_here = [this](int node) {
        return std::any_of(children_.begin(), children_.end(),
                           [node](const auto& other) { return other->node == node; });
    };
    if (!decode(reader, hello) ||
        std::find(expected.begin(), expected.end(), hello.node) == expected.end() ||
        is_here(hello.node)) {
        return child.channel->close();
    }
    child.node = hello.node;
    if (std::all_of(expected.begin(), expected.end(), is_here)) door_.reset();
}

void Branch::connect(const RankMap& map, const std::string& address, int port) {
    map_ = map;
    if (address.empty()) return events_.parent_connected();
    const std::string parent = map_.nodes[bootstrap_.tree.parent(bootstrap_.node)];
    auto link = connect_to({{address, port}}, key_);
    if (!link)
        return events_.branch_broken("cannot reach the agent on " + parent + ": " +
                                     link.error().message);
    parent_ = std::make_unique<Channel>(
        loop_, std::move(*link),
        Channel::Callbacks{[this](Kind kind, Reader& reader) {
                               FenceDone piece;
                               if (kind == Kind::fence_done && decode(reader, piece))
                                   on_done(std::move(piece));
                           },
                           [this, parent] {
                               events_.branch_broken("the connection to " + parent + " has ended");
                           }});
    parent_->send(TreeHello{bootstrap_.node});
    events_.parent_connected();
}

// ---- fences -------------------------------------------------------------------------------------

FenceId Branch::give(Fence contribution) {
    contribution.id.number = given_[contribution.id]++;
    if (contribution.status != 0) contribution.broken = {bootstrap_.node};
    FenceId id = contribution.id;
    add(bootstrap_.node, std::move(contribution));
    return id;
}

bool Branch::has_given(const FenceId& id) const {
    FenceId series = id;
    series.number = 0;
    const auto found = given_.find(series);
    return found != given_.end() && found->second > id.number;
}

template <class Message>
void Branch::pass_on(const Message& message) {
    (parent_ ? *parent_ : root_).send(message);
}

void Branch::add(int from, Fence contribution) {
    const auto whole = fences_.add(from, std::move(contribution), map_);
    if (whole) pass_on(*whole);
}

// A channel keeps order: the parent sees the rank leave after this node's earlier contributions.
void Branch::leave(Left left) {
    for (const Fence& whole : fences_.leave(left.rank, map_)) pass_on(whole);
    pass_on(left);
}

void Branch::on_done(FenceDone piece) {
    const auto takers = fences_.branches(piece.id.procs, map_);
    if (!children_.empty()) {
        const Frame whole = frame(piece);
        for (const auto& child : children_) {
            if (std::find(takers.begin(), takers.end(), child->node) != takers.end()) {
                child->channel->send(whole);
            }
        }
    }
    incoming_ += piece.data;
    if (!piece.last) return;
    piece.data = std::exchange(incoming_, {});
    events_.fence_done(std::move(piece));
}

}  // namespace batchai::launcher
