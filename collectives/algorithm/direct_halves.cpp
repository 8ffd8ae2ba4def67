// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/direct_halves.hpp"

namespace batchai::coll {

void DirectHalves::begin(const Call& call, std::uint64_t number, std::uint64_t) {
    enter(call, number);
    swap_.start(*context_.wire, tag(), 0, call.memory);
    if (call.signature.kind == Kind::direct_scatter) {
        scatter();
    } else {
        gather();
    }
}

Step DirectHalves::step() {
    return swap_.step() ? Step::done : Step::idle;  // the engine checks the wire's progress
}

// Starts with the next rank, so that the ranks do not all send to the same one first.
void DirectHalves::scatter() {
    const std::size_t own = block(rank()).size();
    const std::size_t apart = stride(call_.signature.count, element(), rank(), ranks());
    for (int i = 1; i < ranks(); ++i) {
        const int from = (rank() + ranks() - i) % ranks();
        const int before = from < rank() ? from : from - 1;
        std::byte* to = call_.receive + static_cast<std::size_t>(before) * apart;
        if (own > 0) swap_.add_receive(from, to, own);
    }
    for (int i = 1; i < ranks(); ++i) {
        const int to = (rank() + i) % ranks();
        const Range range = block(to);
        if (range.size() > 0) swap_.add_send(to, call_.send + range.begin, range.size());
    }
}

void DirectHalves::gather() {
    for (int i = 1; i < ranks(); ++i) {
        const int from = (rank() + ranks() - i) % ranks();
        const Range range = block(from);
        if (range.size() > 0) swap_.add_receive(from, call_.receive + range.begin, range.size());
    }
    const Range own = block(rank());
    for (int i = 1; own.size() > 0 && i < ranks(); ++i) {
        swap_.add_send((rank() + i) % ranks(), call_.receive + own.begin, own.size());
    }
}

void DirectHalves::find_missing(Missing& missing) const {
    missing.ranks.clear();
    missing.certain = false;
    swap_.for_missing(
        [&](int other) { missing.ranks.push_back(context_.topology.rail_rank(other)); });
}

}  // namespace batchai::coll
