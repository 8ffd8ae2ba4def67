// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/tree.hpp"

namespace batchai::launcher {

std::vector<int> Tree::children(int node) const {
    std::vector<int> list;
    const long first = static_cast<long>(radix) * (node + 1);
    for (long child = first; child < first + radix && child < nodes; ++child) {
        list.push_back(static_cast<int>(child));
    }
    return list;
}

int Tree::branch(int self, int node) const {
    while (node != self && parent(node) != self && node != kRoot) node = parent(node);
    return node;
}

bool Tree::is_below(int self, int node) const {
    return self == kRoot || branch(self, node) != kRoot;
}

}  // namespace batchai::launcher
