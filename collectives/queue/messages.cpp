// SPDX-License-Identifier: Apache-2.0
//
// Dispatcher: sends messages, those that a round has started and those of the schedule.
#include <fmt/format.h>

#include <algorithm>

#include "collectives/common/veto.hpp"
#include "collectives/queue/dispatcher.hpp"

namespace batchai::coll {

// Labels this rank's current work, for reports of a hang.
void Dispatcher::show(const std::vector<Submission*>& together) {
    label_ = together.front()->name();
    if (together.size() > 1) {
        label_ += " and ";
        label_ += fmt::format_int(together.size() - 1).c_str();
        label_ += " more";
    }
    progress_.label(label_.c_str());
}

void Dispatcher::add_piece(const Part& part) {
    const std::size_t begin = pieces_.empty() ? 0 : pieces_.back().end;
    pieces_.push_back({part.send, part.receive, begin, begin + part.signature.count});
}

void Dispatcher::start_call(const FusionKey& key, std::size_t elements, bool* vetoed) {
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

Step Dispatcher::start_message() {
    together_.swap(batch_.front());
    batch_.pop_front();
    show(together_);
    std::size_t bytes = 0;
    for (const Submission* submission : together_) bytes += bytes_of(submission->parts);
    listener_.on_started(together_, bytes);
    parts_done_ = 0;
    on_device_ = together_.front()->on_device();
    if (on_device_) {
        options_.devices->begin(together_);
    } else if (together_.front()->parts.empty()) {
        call_caller(*together_.front());
    } else {
        start_parts();
    }
    return Step::moved;
}

void Dispatcher::call_caller(Submission& submission) {
    const int status = submission.run(submission.argument);
    const Failure failure{BATCHAI_COLL_ERR_SYSTEM,
                          fmt::format("{} could not be started", submission.name())};
    end_message(status == 0 ? nullptr : &failure);
}

// Reduces all fused submissions together. A submission with different types is reduced in groups of
// consecutive parts of one type.
void Dispatcher::start_parts() {
    const Signature& first = together_.front()->parts[parts_done_].signature;
    const FusionKey key{first.type, first.op, first.before, first.after};
    pieces_.clear();
    for (const Submission* submission : together_) {
        for (; parts_done_ < submission->parts.size(); ++parts_done_) {
            const Part& part = submission->parts[parts_done_];
            if (part.signature.type != key.type) break;
            add_piece(part);
        }
        if (together_.size() > 1) parts_done_ = 0;
    }
    start_call(key, pieces_.back().end, nullptr);
}

// After a failure of the engine, the next step() ends all submissions.
Step Dispatcher::await_request() {
    const auto status = engine_.test(request_);
    if (status == BATCHAI_COLL_IN_PROGRESS) return engine_.has_moved() ? Step::moved : Step::idle;
    request_ = nullptr;
    if (status != BATCHAI_COLL_OK) return Step::moved;
    if (tuning_ != nullptr) {
        tune();
    } else if (in_bucket_) {
        finish_bucket();
    } else {
        finish_message();
    }
    return Step::moved;
}

// Like await_request(), for GPU memory.
Step Dispatcher::await_device() {
    const Step step = options_.devices->step();
    if (step != Step::done && step != Step::failed) return step;
    on_device_ = false;
    end_message(step == Step::done ? nullptr : &options_.devices->failure());
    return Step::moved;
}

void Dispatcher::finish_message() {
    if (together_.size() == 1 && parts_done_ < together_.front()->parts.size()) {
        start_parts();
    } else {
        end_message(nullptr);
    }
}

void Dispatcher::end_message(const Failure* failure) {
    listener_.on_ended(together_, failure);
    together_.clear();
}

std::size_t Dispatcher::missing_of_bucket() const {
    const std::vector<int>& ids = schedule_.next().ids;
    return static_cast<std::size_t>(std::count_if(ids.begin(), ids.end(), [this](int id) {
        return by_id_[static_cast<std::size_t>(id)] == nullptr;
    }));
}

// Whether this rank expects not to get all of the bucket's tensors.
bool Dispatcher::has_to_veto(Clock::time_point now) const {
    if (closing_ || blocked_ || now >= line_.front()->since + options_.patience) return true;
    return std::any_of(line_.begin(), line_.end(), [this](const Submission* submission) {
        return !schedule_.contains(submission->id);
    });
}

Step Dispatcher::follow_schedule() {
    const bool complete = missing_of_bucket() == 0;
    if (!complete && !has_to_veto(Clock::now())) return Step::idle;
    start_bucket(!complete);
    return Step::moved;
}

void Dispatcher::start_bucket(bool veto) {
    const Schedule::Bucket& bucket = schedule_.next();
    const FusionKey key = bucket.key.value_or(FusionKey{BATCHAI_COLL_FLOAT32});
    set_veto(key.type, veto, head_);
    pieces_.assign(1, {head_, head_, 0, 1});
    together_.clear();
    if (veto) {
        pieces_.push_back({nullptr, nullptr, 1, 1 + bucket.elements});
    } else {
        for (const int id : bucket.ids) {
            Submission* submission = by_id_[static_cast<std::size_t>(id)];
            together_.push_back(submission);
            for (const Part& part : submission->parts) {
                if (bucket.key) add_piece(part);
            }
        }
        show(together_);
        if (bucket.key) listener_.on_started(together_, bucket.elements * type_size(key.type));
    }
    in_bucket_ = true;
    vetoed_ = false;
    start_call(key, 1 + bucket.elements, &vetoed_);
}

void Dispatcher::finish_bucket() {
    in_bucket_ = false;
    if (vetoed_) {
        together_.clear();
        schedule_.veto();
        fresh_ = true;
        return;
    }
    leave_line(together_);
    if (schedule_.next().key) {
        listener_.on_ended(together_, nullptr);
    } else {
        listener_.on_agreed(together_);
        batch_.push_back(together_);
    }
    together_.clear();
    if (!schedule_.advance()) return;
    listener_.on_cycle();
    time_schedule();
}

void Dispatcher::freeze() {
    schedule_.freeze();
    const std::size_t bytes = schedule_.cycle_bytes();
    fusion_tuner_.begin(fusion_thresholds(bytes));
    if (fusion_tuner_.is_enabled()) {
        schedule_.cut(fusion_tuner_.value());
    } else {
        schedule_.cut(options_.fusion_bytes, schedule_.good_bucket(engine_.allreduce_time(bytes)));
    }
    cycle_began_ = Clock::now();
    settled_.reset();
}

}  // namespace batchai::coll
