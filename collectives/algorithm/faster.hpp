// SPDX-License-Identifier: Apache-2.0
//
// Faster: which way of an operation takes less time, for messages of about the same length: through
// slots, or in place, where ranks take data straight from each other's buffers. It tries both at
// first, and then now and then, because the program may do something else with its buffers. All
// ranks try in the same operations, because an operation goes one way on all of them.
//
// In place saves a copy. But the program has just written its data: it lies in the cache of another
// core, and if the cores share no cache, taking it from there costs more than the copy. Slots are
// written so that other cores read them fast (reduce/moves.hpp). Reading memory of another process
// (transport/reader.hpp) has its own cost for each page.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace batchai::coll {

class Faster {
  public:
    // in_place: of buffers in regions. reading: of other buffers.
    enum Way { in_place, reading, slots };
    // Messages of so many bytes do not stay in the caches.
    static constexpr std::size_t kPastCaches = 8u << 20;

    // An operation begins. It counts if the next two functions are called for it.
    void begin() {
        bytes_ = 0;
        way_.reset();
        time_ = {};
    }
    // Whether this rank prefers in place or reading, as the last message could go, to slots. All
    // ranks call it for the same operations, with the same bytes. measures: this rank's time says
    // how long the message takes; else it does as the ranks last did.
    bool prefers(std::size_t bytes, bool measures = true) {
        bytes_ = bytes;
        measures_ = measures;
        return next(bytes, measures) != slots;
    }
    // All ranks have entered, and can go in place or read (none: slots only). is_taken: they do.
    void goes(std::optional<Way> other, bool is_taken) {
        if (bytes_ == 0 || !other) return;
        Size& size = of(bytes_);
        size.other = *other;
        size.is_taken = is_taken;
        ++size.messages[*other];
        if (measures_) way_ = is_taken ? *other : slots;
    }
    // Around each step. Counts the time from the step in which all ranks have entered, so that what
    // a rank copies while it waits for others costs nothing; and of pauses between steps only the
    // beginning, because the program may compute meanwhile.
    void step_begins() {
        if (bytes_ == 0) return;
        const auto now = Clock::now();
        if (way_) time_ += std::min<std::chrono::nanoseconds>(now - last_, kPause);
        last_ = now;
    }
    void step_ends() {
        if (bytes_ == 0) return;
        const auto now = Clock::now();
        if (way_) time_ += now - last_;
        last_ = now;
    }
    // The operation is done.
    void done() {
        if (bytes_ > 0 && way_) took(*way_, bytes_, time_);
    }

    // What these do, for tests.
    Way next(std::size_t bytes, bool measures = true) {
        const Size& size = of(bytes);
        const Way other = size.other;
        const std::uint64_t n = size.messages[other];
        if (n < kFirst || n % kPeriod < 2) return n % kPeriod == 0 ? slots : other;
        if (!measures) return size.is_taken ? other : slots;
        const double margin = bytes < kPastCaches ? kMargin : 1;
        return size.cost[other] * margin < size.cost[slots] ? other : slots;
    }
    void took(Way way, std::size_t bytes, std::chrono::nanoseconds time) {
        const auto measured = static_cast<double>(std::max<std::int64_t>(time.count(), 1));
        double& cost = of(bytes).cost[way];
        cost = std::min(measured / static_cast<double>(bytes), cost * kRise);
    }

  private:
    using Clock = std::chrono::steady_clock;

    // First slots, then twice the other way: the first time, data may be in other caches than
    // later. The period is a prime, so that a program's own period does not fall in step with it.
    static constexpr std::uint64_t kFirst = 3, kPeriod = 61;  // messages
    // Costs rise slowly: a time slice of another process looks like a slow copy.
    static constexpr double kRise = 1.25;
    // The other way must be so much faster in the caches: it leaves the program's data in other
    // cores' caches, from which the program's next writes have to fetch it.
    static constexpr double kMargin = 1.5;
    static constexpr std::chrono::microseconds kPause{20};

    struct Size {
        Way other = in_place;            // as the last message could go
        bool is_taken = false;           // it did
        std::uint64_t messages[2] = {};  // that could go in place, by reading
        std::array<double, 3> cost = {kNever, kNever, kNever};  // nanoseconds a byte, by way
    };
    static constexpr double kNever = std::numeric_limits<double>::infinity();

    Size& of(std::size_t bytes) { return sizes_[static_cast<std::size_t>(std::bit_width(bytes))]; }

    std::array<Size, std::numeric_limits<std::size_t>::digits + 1> sizes_;
    std::size_t bytes_ = 0;
    bool measures_ = true;
    std::optional<Way> way_;
    std::chrono::nanoseconds time_{0};
    Clock::time_point last_;
};

}  // namespace batchai::coll
