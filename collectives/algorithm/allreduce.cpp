// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/allreduce.hpp"

#include <cstring>

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

Allreduce::Allreduce(Context& context) : Pipeline(context), inputs_(context.node.size()) {
    const int nodes = context.topology.nodes();
    reducers_ = nodes == 1 ? context.node.size() : context.topology.rails();
    if (context.wire == nullptr) return;
    // A rail's share of a chunk, rounded up to whole lines.
    const std::size_t share =
        context.node.slot_bytes() / static_cast<std::size_t>(reducers_) + 2 * kAlignment;
    for (auto& scratch : scratch_) {
        scratch.resize(
            std::max(Direct::scratch_needed(nodes, share), Folded::scratch_needed(nodes, share)));
    }
}

std::uint64_t Allreduce::plan() {
    const Signature& signature = call_.signature;
    if (reduces_numbers(signature)) {
        reduction_ = reduction_of(signature.type, signature.op);
        scale_ = scale();
        send_ = call_.send;
        receive_ = call_.receive;
        count_ = signature.count;
    } else {
        reduction_ = reduction_of(BATCHAI_COLL_INT32, BATCHAI_COLL_SUM);
        scale_ = {};
        nothing_ = 0;
        send_ = receive_ = reinterpret_cast<std::byte*>(&nothing_);
        count_ = 1;
    }
    streaming_ = send_ != receive_ && count_ * reduction_.element >= kStreamFrom;
    per_chunk_ = node().slot_bytes() / reduction_.element;
    if (context_.wire != nullptr) {
        algorithm_ = context_.planner.choose(reduction_, {count_, per_chunk_, topology().rails()});
    }
    return chunks_of(count_, per_chunk_);
}

Range Allreduce::part(std::uint64_t k, int reducer) const {
    return part_of(chunk(k).size(), reduction_.element, reducer, reducers_);
}

bool Allreduce::reduces(std::uint64_t k) const {
    return node().rank() < reducers_ && part(k, node().rank()).size() > 0;
}

// This rank's part, in the out slot.
std::byte* Allreduce::result(std::uint64_t k) const {
    return node().out_slot(at(k)) + part(k, node().rank()).begin * reduction_.element;
}

// Of the chunk: what this rank reduces.
Range Allreduce::own_bytes(std::uint64_t k) const {
    if (node().rank() >= reducers_) return {};
    const Range own = part(k, node().rank());
    return {own.begin * reduction_.element, own.end * reduction_.element};
}

// Of the chunk: what is in the receive buffer already.
Range Allreduce::kept(std::uint64_t k) const {
    return topology().nodes() == 1 ? own_bytes(k) : Range{};
}

// A reducer reads its own part where it is.
void Allreduce::copy_in(std::uint64_t k) {
    const std::byte* from = send_ + chunk(k).begin * reduction_.element;
    std::byte* to = node().in_slot(node().rank(), at(k));
    const std::size_t bytes = chunk(k).size() * reduction_.element;
    const auto [begin, end] = own_bytes(k);
    std::memcpy(to, from, begin);
    std::memcpy(to + end, from + end, bytes - end);
}

bool Allreduce::can_work(std::uint64_t k) {
    return !reduces(k) || node().all_copied(at(k));
}

Exchange* Allreduce::work(std::uint64_t k) {
    if (!reduces(k)) return nullptr;
    const Range own = part(k, node().rank());
    const std::size_t offset = own.begin * reduction_.element;
    for (int r = 0; r < node().size(); ++r) inputs_[r] = node().in_slot(r, at(k)) + offset;
    inputs_[node().rank()] = send_ + chunk(k).begin * reduction_.element + offset;
    if (context_.wire == nullptr) {
        if (gets_result()) {
            combine_and_keep(k, own);
        } else {
            reduction_.combine(result(k), inputs_.data(), node().size(), own.size(), scale_);
        }
        return nullptr;
    }
    const Scale before = {.before = scale_.before};
    reduction_.combine(result(k), inputs_.data(), node().size(), own.size(), before);
    return exchange(k, own.size());
}

// The result for the neighbours, and for this rank while it is in the first-level cache.
void Allreduce::combine_and_keep(std::uint64_t k, Range own) {
    std::byte *out = result(k),
              *keep = receive_ + (chunk(k).begin + own.begin) * reduction_.element;
    const std::size_t step = kBlock / reduction_.element;
    for (std::size_t i = 0; i < own.size(); i += step) {
        const std::size_t count = std::min(step, own.size() - i),
                          bytes = count * reduction_.element;
        reduction_.combine(out, inputs_.data(), node().size(), count, scale_);
        copy(keep, out, bytes, streaming_);
        out += bytes;
        keep += bytes;
        for (const void*& input : inputs_) input = static_cast<const std::byte*>(input) + bytes;
    }
}

Exchange* Allreduce::exchange(std::uint64_t k, std::size_t count) {
    const int me = topology().node(), nodes = topology().nodes(), s = slot(at(k));
    const Scale after = {.after = scale_.after, .divisor = scale_.divisor};
    const auto start = [&](auto& algorithm) {
        algorithm.start(*context_.wire, tag(), s, me, nodes, reduction_, after, result(k),
                        scratch_[s].data(), count);
        return &algorithm;
    };
    switch (algorithm_) {
        case Algorithm::halving_doubling:
            return start(halving_[s]);
        case Algorithm::direct:
            start(direct_[s]);
            if (call_.signature.kind == Kind::reduce &&
                Direct::has_blocks(nodes, count * reduction_.element)) {
                direct_[s].only_for(topology().node_of[call_.signature.root]);
            }
            return &direct_[s];
        case Algorithm::ring:
            return start(ring_[s]);
        default:
            return start(doubling_[s]);
    }
}

bool Allreduce::can_copy_out(std::uint64_t k) {
    int last = reducers_;  // reducers without a part are not waited for
    while (last > 1 && part(k, last - 1).size() == 0) --last;
    return all_reduced(k, last);
}

void Allreduce::copy_out(std::uint64_t k) {
    if (!gets_result()) return;
    std::byte* to = receive_ + chunk(k).begin * reduction_.element;
    const std::byte* from = node().out_slot(at(k));
    const std::size_t bytes = chunk(k).size() * reduction_.element;
    const auto [begin, end] = kept(k);
    copy(to, from, begin, streaming_);
    copy(to + end, from + end, bytes - end, streaming_);
}

}  // namespace batchai::coll
