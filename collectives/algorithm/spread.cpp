// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/spread.hpp"

namespace batchai::coll {

Spread::Shape Spread::shape_for(const Link& link, int nodes, std::size_t bytes, std::size_t chunk) {
    const double m = static_cast<double>(bytes), c = static_cast<double>(std::min(chunk, bytes));
    const double hops = std::bit_width(static_cast<unsigned>(nodes - 1));
    const double binomial = hops * (link.latency + m * link.per_byte);
    const double chain = (nodes - 1) * (link.latency + c * link.per_byte) + m * link.per_byte;
    return chain < binomial ? Shape::chain : Shape::binomial;
}

// Binomial tree: the parent's position is the child's without the lowest bit.
int Spread::parent(Shape shape, int position) {
    if (position == 0) return -1;
    return shape == Shape::chain ? position - 1 : position & (position - 1);
}

void Spread::start(Wire& wire, Tag tag, int slot, int node, int nodes, int root_node, Shape shape,
                   std::byte* data, std::size_t bytes) {
    begin(wire, tag, slot);
    data_ = data;
    bytes_ = bytes;
    const int position = (node - root_node + nodes) % nodes;
    const auto node_at = [&](int p) { return (p + root_node) % nodes; };
    parent_ = position == 0 ? -1 : node_at(parent(shape, position));
    children_.clear();
    for_children(shape, position, nodes, [&](int child) { children_.push_back(node_at(child)); });
    stage_ = Stage::receive;
}

bool Spread::advance() {
    switch (stage_) {
        case Stage::receive:
            if (parent_ >= 0) receive(parent_, 0, data_, bytes_);
            stage_ = Stage::send;
            return true;
        case Stage::send:
            for (const int child : children_) send(child, 0, data_, bytes_);
            stage_ = Stage::end;
            return true;
        case Stage::end:
            return false;
    }
    return false;
}

}  // namespace batchai::coll
