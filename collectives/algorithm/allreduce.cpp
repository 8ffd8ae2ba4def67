// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/allreduce.hpp"

#include <algorithm>
#include <cstring>

namespace batchai::coll {

Allreduce::Allreduce(Context& context) : Pipeline(context), inputs_(context.node.size()) {
    const int nodes = context.topology.nodes();
    reducers_ = nodes == 1 ? context.node.size() : context.topology.rails();
    if (context.wire == nullptr) return;
    for (auto& scratch : scratch_) {
        scratch.resize(
            std::max(Direct::scratch_needed(nodes, context.node.slot_bytes()),
                     RecursiveDoubling::scratch_needed(nodes, context.node.slot_bytes())));
    }
}

std::uint64_t Allreduce::plan() {
    const Signature& signature = call_.signature;
    if (signature.kind == Kind::allreduce && signature.count > 0) {
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
    per_chunk_ = node().slot_bytes() / reduction_.element;
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

// A reducer reads its own part where it is.
void Allreduce::copy_in(std::uint64_t k) {
    const std::byte* from = send_ + chunk(k).begin * reduction_.element;
    std::byte* to = node().in_slot(node().rank(), at(k));
    const std::size_t bytes = chunk(k).size() * reduction_.element;
    Range own;
    if (node().rank() < reducers_) own = part(k, node().rank());
    const std::size_t begin = own.begin * reduction_.element, end = own.end * reduction_.element;
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
        reduction_.combine(result(k), inputs_.data(), node().size(), own.size(), scale_);
        return nullptr;
    }
    const Scale before = {.before = scale_.before};
    reduction_.combine(result(k), inputs_.data(), node().size(), own.size(), before);
    return exchange(k, own.size());
}

Exchange* Allreduce::exchange(std::uint64_t k, std::size_t count) {
    const int me = topology().node(), nodes = topology().nodes(), s = slot(at(k));
    const Scale after = {.after = scale_.after, .divisor = scale_.divisor};
    const auto start = [&](auto& algorithm) {
        algorithm.start(*context_.wire, tag(), s, me, nodes, reduction_, after, result(k),
                        scratch_[s].data(), count);
        return &algorithm;
    };
    if (Direct::cost(nodes, count * reduction_.element) <
        RecursiveDoubling::cost(nodes, reduction_, count)) {
        return start(direct_[s]);
    }
    return start(doubling_[s]);
}

bool Allreduce::can_copy_out(std::uint64_t k) {
    int last = reducers_;  // reducers without a part are not waited for
    while (last > 1 && part(k, last - 1).size() == 0) --last;
    return all_reduced(k, last);
}

void Allreduce::copy_out(std::uint64_t k) {
    std::memcpy(receive_ + chunk(k).begin * reduction_.element, node().out_slot(at(k)),
                chunk(k).size() * reduction_.element);
}

}  // namespace batchai::coll
