// SPDX-License-Identifier: Apache-2.0
#include "collectives/planner.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "batchai/collectives.h"
#include "collectives/algorithm/direct.hpp"
#include "collectives/algorithm/halving_doubling.hpp"
#include "collectives/algorithm/recursive_doubling.hpp"
#include "collectives/algorithm/ring.hpp"

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
    return sys::Error{fmt::format("BATCHAI_COLL_ALGORITHM: '{}' is none of {}", text, names)};
}

double Planner::cost(Algorithm algorithm, const Reduction& reduction, std::size_t count) const {
    switch (algorithm) {
        case Algorithm::recursive_doubling:
            return RecursiveDoubling::cost(link_, nodes_, reduction, count);
        case Algorithm::halving_doubling:
            return HalvingDoubling::cost(link_, nodes_, reduction, count);
        case Algorithm::direct:
            return Direct::cost(link_, nodes_, count * reduction.element);
        case Algorithm::ring:
            return Ring::cost(link_, nodes_, count * reduction.element);
    }
    return 0;
}

Algorithm Planner::choose(const Reduction& reduction, std::size_t count) const {
    if (named_) return *named_;
    Algorithm best = Algorithm::recursive_doubling;
    for (const Algorithm algorithm : kAlgorithms) {
        if (algorithm == Algorithm::ring) continue;
        if (cost(algorithm, reduction, count) < cost(best, reduction, count)) best = algorithm;
    }
    return best;
}

double Planner::predict(const Reduction& reduction, std::size_t count, std::size_t chunk,
                        int rails) const {
    const auto share =
        std::max<std::size_t>(1, std::min(count, chunk) / static_cast<std::size_t>(rails));
    const Algorithm algorithm = choose(reduction, share);
    const double first = cost(algorithm, reduction, share);
    const double bytes = first - cost(algorithm, reduction, 0);
    const double chunks = static_cast<double>(count) / static_cast<double>(chunk);
    return first + std::max(0.0, chunks - 1) * bytes;
}

std::string Planner::text(std::size_t most) const {
    std::string text = fmt::format("{} nodes, {:.1f} us and {:.3f} ns a byte to the next one{}",
                                   nodes_, link_.latency * 1e6, link_.per_byte * 1e9,
                                   named_ ? ", by BATCHAI_COLL_ALGORITHM" : "");
    const Reduction reduction = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    std::optional<Algorithm> last;
    for (std::size_t bytes = reduction.element; bytes <= most; bytes *= 2) {
        const std::size_t count = bytes / reduction.element;
        const Algorithm algorithm = choose(reduction, count);
        if (algorithm == last) continue;
        text += fmt::format("\n  from {} bytes: {}, {:.1f} us", bytes, name_of(algorithm),
                            cost(algorithm, reduction, count) * 1e6);
        last = algorithm;
    }
    return text;
}

}  // namespace batchai::coll
