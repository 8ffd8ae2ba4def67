// SPDX-License-Identifier: Apache-2.0
//
// Caller, Job: dispatchers of a whole job in one thread, for tests: what they are given, what they
// do with it, and random interleavings of their steps.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <map>

#include "collectives/queue/dispatcher.hpp"
#include "ranks.hpp"

namespace batchai::coll {

// An operation as all ranks submit it. No parts: a caller's own.
struct Wanted {
    struct Numbers {
        std::size_t count = 1;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;  // or INT32
    };

    std::vector<Numbers> parts;
    std::string text = {};
    int priority = 0;
};

// A rank's caller.
class Caller final : public Listener {
  public:
    Caller(Ranks& ranks, int rank, Dispatcher::Options options)
        : rank_(rank),
          dispatcher_(ranks.engine(rank), ranks.progress(rank), ranks.topology(rank), *this,
                      std::move(options)) {}

    // Allreduces of numbers that tell the rank and the name; without a name where it says so.
    void submit(const std::string& name, const Wanted& wanted) {
        Work& work = works_[name];
        work.submission = {};
        work.numbers.clear();
        const int own = rank_ + static_cast<int>(name.size());
        for (const Wanted::Numbers& numbers : wanted.parts) {
            const auto bits = numbers.type == BATCHAI_COLL_FLOAT32
                                  ? std::bit_cast<std::uint32_t>(static_cast<float>(own))
                                  : static_cast<std::uint32_t>(own);
            auto& place = work.numbers.emplace_back(numbers.count, bits);
            Signature signature;
            signature.kind = Kind::allreduce;
            signature.count = numbers.count;
            signature.type = static_cast<std::uint8_t>(numbers.type);
            auto* data = reinterpret_cast<std::byte*>(place.data());
            work.submission.parts.push_back({signature, data, data});
        }
        if (wanted.parts.empty()) {
            work.submission.run = [](void* calls) {
                ++*static_cast<int*>(calls);
                return 0;
            };
            work.submission.argument = &own_calls_;
        }
        work.submission.priority = wanted.priority;
        work.submission.named = !name.starts_with("noname");
        set_key(work.submission, name, wanted.text);
        const Counting on(true);
        dispatcher_.add(&work.submission, Dispatcher::Clock::now());
    }
    void submit(const std::string& name, std::size_t count, const std::string& text = "",
                batchai_coll_type type = BATCHAI_COLL_FLOAT32) {
        submit(name, Wanted{{{count, type}}, text});
    }
    // One that counts how often it is called.
    void submit_own(const std::string& name) { submit(name, Wanted{}); }
    void block(bool blocked, bool only_caller = true) {
        dispatcher_.set_blocked(blocked, only_caller);
    }
    void close() { dispatcher_.close(); }

    // A driver asks how long to rest where nothing moves.
    Step step() {
        const Counting on(true);
        const Step step = dispatcher_.step();
        if (step == Step::idle) dispatcher_.idle_wait();
        return step;
    }
    // How long a driver sleeps that has been given this one just now, if nothing else happens.
    std::chrono::nanoseconds rest_after(const std::string& name) const {
        return dispatcher_.idle_wait().value().until - works_.at(name).submission.since;
    }
    bool has_closed() const { return dispatcher_.has_closed(); }
    bool has_ended(const std::string& name) const {
        const auto found = works_.find(name);
        return found == works_.end() || found->second.submission.state == Submission::State::ended;
    }
    bool is_pending(const std::string& name) const { return works_.at(name).submission.pending; }
    bool all_ended() const {
        return std::all_of(works_.begin(), works_.end(),
                           [this](const auto& work) { return has_ended(work.first); });
    }
    std::string failure(const std::string& name) const {
        return works_.at(name).submission.failure.sentence;
    }
    // Whether each number is the sum.
    bool right(const std::string& name, int sum) const {
        const Work& work = works_.at(name);
        for (std::size_t p = 0; p < work.numbers.size(); ++p) {
            const auto type = work.submission.parts[p].signature.type;
            const auto bits = type == BATCHAI_COLL_FLOAT32
                                  ? std::bit_cast<std::uint32_t>(static_cast<float>(sum))
                                  : static_cast<std::uint32_t>(sum);
            for (const std::uint32_t number : work.numbers[p]) {
                if (number != bits) return false;
            }
        }
        return true;
    }
    int own_calls() const { return own_calls_; }
    int rounds() const { return rounds_; }
    int messages() const { return messages_; }
    const std::vector<std::string>& order() const { return order_; }
    // That it was told of.
    const std::vector<std::string>& tuned() const { return tuned_; }

  private:
    struct Work {
        Submission submission;
        std::vector<std::vector<std::uint32_t>> numbers;  // of each part, as bits
    };

    void on_agreed(const std::vector<Submission*>& submissions) override {
        for (Submission* submission : submissions) submission->state = Submission::State::started;
    }
    void on_ended(const std::vector<Submission*>& together, const Failure* failure) override {
        const Counting off(false);
        for (Submission* submission : together) {
            submission->state = Submission::State::ended;
            submission->failure = failure == nullptr ? Failure{} : *failure;
            order_.emplace_back(submission->name());
        }
    }
    void on_negotiation(bool begins) override { rounds_ += begins; }
    void on_started(const std::vector<Submission*>&, std::size_t) override { ++messages_; }
    void on_tuned(const std::string& setting) override {
        const Counting off(false);
        tuned_.push_back(setting);
    }

    int rank_;
    std::map<std::string, Work> works_;
    int rounds_ = 0, messages_ = 0, own_calls_ = 0;
    std::vector<std::string> order_, tuned_;
    Dispatcher dispatcher_;
};

class Job {
  public:
    explicit Job(const std::vector<int>& nodes, Dispatcher::Options options = {}, unsigned seed = 1,
                 const Link& link = {}, std::size_t slot_bytes = 4096)
        : ranks_(nodes, seed, {}, slot_bytes, {}, {nullptr, {}}, link), random_(seed) {
        options.cycle = std::chrono::nanoseconds(0);
        options.numbers.resize(ranks_.size());
        std::iota(options.numbers.begin(), options.numbers.end(), 0);
        for (int r = 0; r < ranks_.size(); ++r) {
            callers_.push_back(std::make_unique<Caller>(ranks_, r, options));
        }
    }

    int size() const { return ranks_.size(); }
    Caller& operator[](int rank) { return *callers_[rank]; }
    std::mt19937& random() { return random_; }
    Ranks& ranks() { return ranks_; }
    int sum(const std::string& name) const {
        const int n = size();
        return n * (n - 1) / 2 + n * static_cast<int>(name.size());
    }

    // Steps ranks at random until `done`.
    template <class Done>
    void run(Done done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        for (std::size_t steps = 0; !done(); ++steps) {
            callers_[random_() % callers_.size()]->step();
            if (steps % 1000 == 0 && std::chrono::steady_clock::now() > deadline) {
                throw std::runtime_error("the job stands still");
            }
        }
    }
    void run() {
        run([this] {
            return std::all_of(callers_.begin(), callers_.end(),
                               [](const auto& caller) { return caller->all_ended(); });
        });
    }
    void close() {
        for (const auto& caller : callers_) caller->close();
        run([this] {
            return std::all_of(callers_.begin(), callers_.end(),
                               [](const auto& caller) { return caller->has_closed(); });
        });
    }
    // A step of training: all ranks submit the tensors, in an order of their own, while others have
    // begun already, and wait.
    void train(const std::vector<std::string>& names, std::size_t count, bool at_once = false) {
        std::vector<std::vector<std::string>> to_come(callers_.size(), names);
        for (auto& own : to_come) {
            if (!at_once) std::shuffle(own.begin(), own.end(), random_);
        }
        for (std::size_t left = names.size() * callers_.size(); left > 0;) {
            const std::size_t r = random_() % callers_.size();
            if (!at_once && random_() % 2 == 0) callers_[r]->step();
            if (to_come[r].empty()) continue;
            callers_[r]->submit(to_come[r].back(), count);
            to_come[r].pop_back();
            callers_[r]->block(to_come[r].empty());
            --left;
        }
        run();
        for (const auto& caller : callers_) {
            caller->block(false);
            for (const std::string& name : names) {
                BOOST_TEST(caller->failure(name) == "");
                BOOST_TEST(caller->right(name, sum(name)));
            }
        }
    }

  private:
    Ranks ranks_;
    std::mt19937 random_;
    std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace batchai::coll
