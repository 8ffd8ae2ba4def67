// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>
#include <vector>

#include "collectives/reduce/copy.hpp"
#include "collectives/reduce/moves.hpp"
#include "collectives/reduce/table.hpp"

using namespace batchai::coll;

namespace {

constexpr std::size_t kAround = 130;

// Between two places in memory, at which only what was asked for may change.
void check(Copy copy, std::size_t bytes, std::size_t from, std::size_t to) {
    std::vector<unsigned char> source(bytes + 2 * kAround), target(source.size(), 7);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 31);
    std::vector<unsigned char> wanted = target;
    std::copy_n(source.begin() + static_cast<long>(from), bytes,
                wanted.begin() + static_cast<long>(to));
    copy(target.data() + to, source.data() + from, bytes);
    BOOST_TEST((target == wanted), bytes << " bytes from " << from << " to " << to);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(copies)

BOOST_AUTO_TEST_CASE(any_number_of_bytes_goes_from_any_place_to_any_place) {
    for (const auto set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
        if (!runs_here(set)) continue;
        BOOST_TEST_CONTEXT("instruction set " << static_cast<int>(set)) {
            for (const Copy copy : {table_of(set).copy, table_of(set).stream}) {
                for (std::size_t bytes = 0; bytes <= 600; ++bytes) {
                    check(copy, bytes, bytes % 67, bytes * 7 % kAround);
                }
                for (std::size_t place = 0; place < 66; ++place) {
                    check(copy, 1000, place, 0);
                    check(copy, 1000, 0, place);
                    check(copy, 100003, place, place * 3 % 64);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(moves_go_from_any_place_to_any_place) {
    const std::vector<Copy> ways = {
        [](void* to, const void* from, std::size_t n) { move(to, from, n, Moves::any); },
        [](void* to, const void* from, std::size_t n) { move(to, from, n, Moves::aligned_alike); },
        [](void* to, const void* from, std::size_t n) { copy_for_others(to, from, n); },
        [](void* to, const void* from, std::size_t n) { copy_bytes(to, from, n); },
    };
    for (const Copy copy : ways) {
        for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
            check(copy, bytes, bytes % 67, bytes * 7 % kAround);
        }
        for (std::size_t place = 0; place < 66; ++place) {
            check(copy, 5000, place, 0);
            check(copy, 5000, place, place);
            check(copy, 20000, place, place * 3 % 64);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
