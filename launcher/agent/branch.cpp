// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/branch.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>

namespace batchai::launcher {

Branch::Branch(Loop& loop, const Bootstrap& bootstrap, Callbacks callbacks)
    : loop_(loop),
      bootstrap_(bootstrap),
      callbacks_(std::move(callbacks)),
      fences_(bootstrap.tree, bootstrap.node) {}

// ---- connections --------------------------------------------------------------------------------

sys::Result<int> Branch::listen() {
    if (bootstrap_.tree.children(bootstrap_.node).empty()) return 0;
    auto listener = listen_anywhere(bootstrap_.addresses.front() == "127.0.0.1");
    if (!listener) return listener.error();
    listener_ = std::make_unique<Poll>(loop_, std::move(listener->fd), [this](int) { accept(); });
    return listener->port;
}

void Branch::accept() {
    sys::UniqueFd fd(::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    Child& child = *children_.emplace_back(std::make_unique<Child>());
    child.channel = std::make_unique<Channel>(
        loop_, std::move(fd),
        Channel::Callbacks{[this, &child](Kind kind, Reader& reader) {
                               if (child.node < 0) return on_hello(child, reader);
                               Fence part;
                               if (kind == Kind::fence && decode(reader, part)) {
                                   add(child.node, std::move(part));
                               }
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
    if (!decode(reader, hello) || !same_key(hello.agent_key, bootstrap_.agent_key) ||
        std::find(expected.begin(), expected.end(), hello.node) == expected.end() ||
        is_here(hello.node)) {
        return child.channel->close();
    }
    child.node = hello.node;
    child.channel->set_limit(kFrameLimit);
    child.channel->send(TreeWelcome{bootstrap_.root_key});
    if (!std::all_of(expected.begin(), expected.end(), is_here)) return;
    listener_.reset();
    for (const auto& stranger : children_) {
        if (stranger->node < 0) stranger->channel->close();
    }
}

void Branch::connect(const RankMap& map, const std::string& address, int port) {
    map_ = map;
    if (address.empty()) return callbacks_.on_connected();
    auto socket = connect_to({address}, port);
    if (!socket) return callbacks_.fail(socket.error().message);
    const std::string parent = map_.nodes[bootstrap_.tree.parent(bootstrap_.node)];
    parent_ = std::make_unique<Channel>(
        loop_, std::move(*socket),
        Channel::Callbacks{
            [this](Kind kind, Reader& reader) { on_parent(kind, reader); },
            [this, parent] { callbacks_.fail("the connection to " + parent + " has ended"); }});
    parent_->send(TreeHello{bootstrap_.agent_key, bootstrap_.node});
}

void Branch::on_parent(Kind kind, Reader& reader) {
    if (TreeWelcome welcome; !welcome_ && kind == Kind::tree_welcome && decode(reader, welcome) &&
                             same_key(welcome.root_key, bootstrap_.root_key)) {
        welcome_ = true;
        parent_->set_limit(kFrameLimit);
        return callbacks_.on_connected();
    }
    FenceDone piece;
    if (welcome_ && kind == Kind::fence_done && decode(reader, piece)) on_done(std::move(piece));
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

void Branch::add(int from, Fence contribution) {
    const auto whole = fences_.add(from, std::move(contribution), map_);
    if (!whole) return;
    parent_ ? parent_->send(*whole) : callbacks_.to_root(*whole);
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
    callbacks_.on_done(std::move(piece));
}

}  // namespace batchai::launcher
