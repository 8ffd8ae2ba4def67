// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/message.hpp"

#include <fmt/format.h>

#include "collectives/common/veto.hpp"

namespace batchai::coll {

void Message::add_piece(const Part& part) {
    const std::size_t begin = pieces_.empty() ? 0 : pieces_.back().end;
    pieces_.push_back({part.send, part.receive, begin, begin + part.signature.count});
}

void Message::start_call(const FusionKey& key, std::size_t elements, bool* vetoed) {
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = elements;
    call.signature.type = key.type;
    call.signature.op = key.op;
    call.signature.before = key.before;
    call.signature.after = key.after;
    call.vetoed = vetoed;
    if (pieces_.size() == 1 && vetoed == nullptr) {
        call.send = pieces_[0].send;
        call.receive = pieces_[0].receive;
    } else {
        call.pieces = pieces_;
    }
    request_ = engine_.start(call);
}

Step Message::start(std::vector<Submission*> together) {
    submissions_ = std::move(together);
    next_part_ = 0;
    const Submission& first = *submissions_.front();
    on_device_ = first.on_device();
    if (on_device_) {
        devices_->begin(submissions_);
    } else if (first.parts.empty()) {
        return call_caller(first);
    } else {
        start_parts();
    }
    return Step::moved;
}

Step Message::call_caller(const Submission& submission) {
    if (submission.run(submission.argument) == 0) return Step::done;
    failure_ = {BATCHAI_COLL_ERR_SYSTEM, fmt::format("{} could not be started", submission.name())};
    return Step::failed;
}

// Reduces all fused submissions together. A submission with different types is reduced in groups of
// consecutive parts of one type.
void Message::start_parts() {
    const Signature& first = submissions_.front()->parts[next_part_].signature;
    const FusionKey key{first.type, first.op, first.before, first.after};
    pieces_.clear();
    for (const Submission* submission : submissions_) {
        for (; next_part_ < submission->parts.size(); ++next_part_) {
            const Part& part = submission->parts[next_part_];
            if (part.signature.type != key.type) break;
            add_piece(part);
        }
        if (submissions_.size() > 1) next_part_ = 0;
    }
    start_call(key, pieces_.back().end, nullptr);
}

void Message::take(const Schedule::Bucket& bucket, const OwnRequests& requests) {
    submissions_.clear();
    for (const int id : bucket.ids) submissions_.push_back(requests.of(id));
}

void Message::start(const Schedule::Bucket& bucket, bool veto) {
    const FusionKey key = bucket.key.value_or(FusionKey{BATCHAI_COLL_FLOAT32});
    set_veto(key.type, veto, head_);
    pieces_.assign(1, {head_, head_, 0, 1});
    if (veto) {
        pieces_.push_back({nullptr, nullptr, 1, 1 + bucket.elements});
    } else if (bucket.key) {
        for (const Submission* submission : submissions_) {
            for (const Part& part : submission->parts) add_piece(part);
        }
    }
    next_part_ = 0;
    vetoed_ = on_device_ = false;
    start_call(key, 1 + bucket.elements, &vetoed_);
}

void Message::add_up(std::vector<double>& numbers) {
    submissions_.clear();
    on_device_ = false;
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = numbers.size();
    call.signature.type = BATCHAI_COLL_FLOAT64;
    call.receive = reinterpret_cast<std::byte*>(numbers.data());
    call.send = call.receive;
    request_ = engine_.start(call);
}

Step Message::step() {
    if (on_device_) {
        const Step step = devices_->step();
        if (step == Step::failed) failure_ = devices_->failure();
        return step;
    }
    const auto status = engine_.test(request_);
    if (status == BATCHAI_COLL_IN_PROGRESS) return engine_.has_moved() ? Step::moved : Step::idle;
    if (status != BATCHAI_COLL_OK) return Step::moved;
    const bool more = submissions_.size() == 1 && next_part_ > 0 &&
                      next_part_ < submissions_.front()->parts.size();
    if (!more) return Step::done;
    start_parts();
    return Step::moved;
}

}  // namespace batchai::coll
