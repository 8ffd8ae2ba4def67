// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "batchai/collectives.h"
#include "collectives/algorithm/direct.hpp"
#include "collectives/algorithm/halving_doubling.hpp"
#include "collectives/algorithm/recursive_doubling.hpp"
#include "collectives/algorithm/ring.hpp"
#include "collectives/common/chunking.hpp"

namespace batchai::coll {

const char* name_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::recursive_doubling:
            return "recursive-doubling";
        case Algorithm::halving_doubling:
            return "halving-doubling";
        case Algorithm::direct:
            return "direct";
        case Algorithm::ring:
            return "ring";
    }
    return "";
}

sys::Result<std::optional<Algorithm>> named_algorithm() {
    const char* text = std::getenv("BATCHAI_COLL_ALGORITHM");
    if (text == nullptr || *text == '\0') return std::optional<Algorithm>();
    std::string names;
    for (const Algorithm algorithm : kAlgorithms) {
        if (std::string(text) == name_of(algorithm)) return std::optional(algorithm);
        names += (names.empty() ? "" : ", ") + std::string(name_of(algorithm));
    }
    return sys::Error{fmt::format("BATCHAI_COLL_ALGORITHM: '{}' is not one of {}", text, names)};
}

namespace {

constexpr std::size_t kMostBytes = 1u << 30;

// The cost for one rail's part of one chunk.
double cost(Algorithm algorithm, const Link& link, int nodes, const Reduction& reduction,
            std::size_t count) {
    switch (algorithm) {
        case Algorithm::recursive_doubling:
            return RecursiveDoubling::cost(link, nodes, reduction, count);
        case Algorithm::halving_doubling:
            return HalvingDoubling::cost(link, nodes, reduction, count);
        case Algorithm::direct:
            return Direct::cost(link, nodes, count * reduction.element);
        case Algorithm::ring:
            return Ring::cost(link, nodes, count * reduction.element);
    }
    return 0;
}

}  // namespace

double Planner::predict(Algorithm algorithm, const Reduction& reduction, const Load& load) const {
    const auto share = std::max<std::size_t>(
        1, std::min(load.count, load.chunk) / static_cast<std::size_t>(load.rails));
    Link busy = link_;
    busy.latency = 0;
    const double chunks = static_cast<double>(load.count) / static_cast<double>(load.chunk);
    return cost(algorithm, link_, nodes_, reduction, share) +
           std::max(0.0, chunks - 1) * cost(algorithm, busy, nodes_, reduction, share);
}

Algorithm Planner::choose(const Reduction& reduction, const Load& load) const {
    if (named_) return *named_;
    Algorithm best = Algorithm::recursive_doubling;
    double least = predict(best, reduction, load);
    for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::direct}) {
        const double seconds = predict(algorithm, reduction, load);
        if (seconds >= least) continue;
        best = algorithm;
        least = seconds;
    }
    return best;
}

std::string Planner::text(std::size_t least, std::size_t most, int rails) const {
    std::string text = fmt::format(
        "{} nodes, {:.1f} us, {:.1f} us a message and {:.3f} ns a byte to the next one{}", nodes_,
        link_.latency * 1e6, link_.overhead * 1e6, link_.per_byte * 1e9,
        named_ ? ", by BATCHAI_COLL_ALGORITHM" : "");
    const Reduction reduction = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    std::optional<Algorithm> last;
    for (std::size_t bytes = reduction.element; bytes <= kMostBytes; bytes *= 2) {
        const Load load{bytes / reduction.element,
                        chunk_of_message(bytes, least, most) / reduction.element,
                        rails_for(bytes, rails)};
        const Algorithm algorithm = choose(reduction, load);
        if (algorithm == last) continue;
        text += fmt::format("\n  from {} bytes: {}, {:.1f} us", bytes, name_of(algorithm),
                            predict(algorithm, reduction, load) * 1e6);
        last = algorithm;
    }
    return text;
}

}  // namespace batchai::coll
