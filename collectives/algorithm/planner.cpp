// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "batchai/collectives.h"
#include "collectives/algorithm/direct.hpp"
#include "collectives/algorithm/halving_doubling.hpp"
#include "collectives/algorithm/recursive_doubling.hpp"
#include "collectives/common/chunking.hpp"

namespace batchai::coll {

namespace {

constexpr std::size_t kMostBytes = 1u << 30;

template <class Kind>
constexpr Algorithm row(const char* name) {
    return {name, Kind::cost, Kind::scratch_needed,
            [] { return std::unique_ptr<Combining>(new Kind); }};
}

constexpr Algorithm kAlgorithms[] = {
    row<RecursiveDoubling>("recursive-doubling"),
    row<HalvingDoubling>("halving-doubling"),
    row<Direct>("direct"),
};

}  // namespace

std::span<const Algorithm> algorithms() {
    return kAlgorithms;
}

const Algorithm* algorithm_of(std::string_view name) {
    const auto* found = std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                                     [&](const Algorithm& row) { return row.name == name; });
    return found == std::end(kAlgorithms) ? nullptr : found;
}

sys::Result<const Algorithm*> named_algorithm() {
    const char* text = std::getenv("BATCHAI_COLL_ALGORITHM");
    if (text == nullptr || *text == '\0') return nullptr;
    if (const Algorithm* found = algorithm_of(text)) return found;
    std::string names;
    for (const Algorithm& algorithm : kAlgorithms) {
        names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
    }
    return sys::Error{fmt::format("BATCHAI_COLL_ALGORITHM: '{}' is not one of {}", text, names)};
}

double Planner::predict(const Algorithm& algorithm, const Reduction& reduction,
                        const Load& load) const {
    const auto share = std::max<std::size_t>(
        1, std::min(load.count, load.chunk) / static_cast<std::size_t>(load.rails));
    Link busy = link_;
    busy.latency = 0;
    const double chunks = static_cast<double>(load.count) / static_cast<double>(load.chunk);
    return algorithm.cost(link_, nodes_, reduction, share) +
           std::max(0.0, chunks - 1) * algorithm.cost(busy, nodes_, reduction, share);
}

const Algorithm& Planner::choose(const Reduction& reduction, const Load& load) const {
    if (named_ != nullptr) return *named_;
    const Algorithm* best = nullptr;
    double least = 0;
    for (const Algorithm& algorithm : kAlgorithms) {
        const double seconds = predict(algorithm, reduction, load);
        if (best != nullptr && seconds >= least) continue;
        best = &algorithm;
        least = seconds;
    }
    return *best;
}

std::string Planner::text(std::size_t least, std::size_t most, int rails) const {
    std::string text = fmt::format(
        "{} nodes, {:.1f} us, {:.1f} us a message and {:.3f} ns a byte to the next one{}", nodes_,
        link_.latency * 1e6, link_.overhead * 1e6, link_.per_byte * 1e9,
        named_ != nullptr ? ", by BATCHAI_COLL_ALGORITHM" : "");
    const Reduction reduction = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    const Algorithm* last = nullptr;
    for (std::size_t bytes = reduction.element; bytes <= kMostBytes; bytes *= 2) {
        const Load load{bytes / reduction.element,
                        chunk_of_message(bytes, least, most) / reduction.element,
                        rails_for(bytes, rails)};
        const Algorithm& algorithm = choose(reduction, load);
        if (&algorithm == last) continue;
        text += fmt::format("\n  from {} bytes: {}, {:.1f} us", bytes, algorithm.name,
                            predict(algorithm, reduction, load) * 1e6);
        last = &algorithm;
    }
    return text;
}

}  // namespace batchai::coll
