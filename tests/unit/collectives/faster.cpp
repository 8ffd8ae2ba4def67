// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/faster.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

using namespace batchai::coll;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(faster)

namespace {

// The way that each of `messages` messages takes, if the ways take these times.
std::vector<Faster::Way> ways(Faster& faster, std::size_t bytes, int messages,
                              std::chrono::nanoseconds slots, std::chrono::nanoseconds in_place) {
    std::vector<Faster::Way> ways;
    for (int i = 0; i < messages; ++i) {
        faster.begin();
        ways.push_back(faster.prefers(bytes) ? Faster::in_place : Faster::slots);
        faster.goes(Faster::in_place, ways.back() != Faster::slots);
        faster.took(ways.back(), bytes, ways.back() == Faster::slots ? slots : in_place);
    }
    return ways;
}

}  // namespace

// In place must be faster by half, except past the caches.
BOOST_AUTO_TEST_CASE(tries_both_ways_and_goes_the_faster_one) {
    struct Case {
        std::size_t bytes;
        std::chrono::nanoseconds slots, in_place;
        Faster::Way better;
    };
    const std::vector<Case> cases = {{1 << 20, 40us, 50us, Faster::slots},
                                     {1 << 20, 50us, 40us, Faster::slots},
                                     {1 << 20, 80us, 50us, Faster::in_place},
                                     {16 << 20, 40us, 50us, Faster::slots},
                                     {16 << 20, 50us, 40us, Faster::in_place}};
    for (const auto& [bytes, slots, in_place, better] : cases) {
        Faster faster;
        const auto all = ways(faster, bytes, 63, slots, in_place);
        const std::vector first(all.begin(), all.begin() + 3), last(all.end() - 2, all.end());
        BOOST_TEST((first == std::vector{Faster::slots, Faster::in_place, Faster::in_place}));
        BOOST_TEST((last == std::vector{Faster::slots, Faster::in_place}));
        for (int i = 3; i < 61; ++i) BOOST_TEST((all[i] == better), bytes << ", message " << i);
    }
}

BOOST_AUTO_TEST_CASE(knows_each_size_by_itself) {
    Faster faster;
    ways(faster, 1 << 18, 10, 10us, 20us);
    ways(faster, 1 << 24, 10, 20us, 10us);
    BOOST_TEST((faster.next((1 << 18) + 5) == Faster::slots));
    BOOST_TEST((faster.next((1 << 24) + 5) == Faster::in_place));
}

BOOST_AUTO_TEST_CASE(does_not_leave_a_way_for_one_slow_message) {
    Faster faster;
    ways(faster, 1 << 20, 10, 100us, 50us);
    faster.took(Faster::in_place, 1 << 20, 5ms);
    BOOST_TEST((faster.next(1 << 20) == Faster::in_place));
    for (int i = 0; i < 10; ++i) faster.took(Faster::in_place, 1 << 20, 5ms);
    BOOST_TEST((faster.next(1 << 20) == Faster::slots));
}

// Of what a rank does between steps, the beginning counts.
BOOST_AUTO_TEST_CASE(counts_neither_waiting_nor_computing) {
    Faster faster;
    ways(faster, 1 << 20, 10, 40ms, 1s);
    faster.begin();
    BOOST_TEST(!faster.prefers(1 << 20));
    faster.step_begins();
    std::this_thread::sleep_for(30ms);
    faster.step_ends();
    faster.step_begins();
    faster.goes(Faster::in_place, true);
    faster.step_ends();
    std::this_thread::sleep_for(30ms);
    faster.step_begins();
    faster.step_ends();
    faster.done();
    BOOST_TEST((faster.next(1 << 20) == Faster::in_place));
}

// Trials wait for a message that could go both ways.
BOOST_AUTO_TEST_CASE(does_not_count_messages_without_a_choice) {
    Faster faster;
    for (int i = 0; i < 10; ++i) {
        faster.begin();
        BOOST_TEST(!faster.prefers(1 << 20));
        faster.goes({}, false);
        faster.done();
    }
    ways(faster, 1 << 20, 1, 10us, 10us);
    BOOST_TEST(faster.prefers(1 << 20));
}

// In place is measured, reading is not yet.
BOOST_AUTO_TEST_CASE(knows_in_place_from_reading) {
    Faster faster;
    ways(faster, 1 << 20, 10, 80us, 20us);
    std::vector<Faster::Way> ways;
    for (int i = 0; i < 6; ++i) {
        faster.begin();
        const bool reads = faster.prefers(1 << 20);
        ways.push_back(reads ? Faster::reading : Faster::slots);
        faster.goes(Faster::reading, reads);
        faster.took(ways.back(), 1 << 20, reads ? 90us : 80us);
    }
    using enum Faster::Way;
    BOOST_TEST((ways == std::vector{reading, reading, reading, slots, slots, slots}));
}

// As a broadcast's root, which has its data already.
BOOST_AUTO_TEST_CASE(follows_the_others_if_it_does_not_measure) {
    Faster faster;
    ways(faster, 1 << 20, 10, 20us, 80us);
    faster.begin();
    BOOST_TEST(!faster.prefers(1 << 20, false));
    faster.goes(Faster::in_place, true);
    BOOST_TEST(faster.prefers(1 << 20, false));
    BOOST_TEST(!faster.prefers(1 << 20));
}

BOOST_AUTO_TEST_SUITE_END()
