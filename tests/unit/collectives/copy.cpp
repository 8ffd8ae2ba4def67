// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/copy.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace batchai::coll;

namespace {

constexpr std::size_t kAround = 130;

// Between two places in memory, at which only what was asked for may change.
void check(InstructionSet set, std::size_t bytes, std::size_t from, std::size_t to,
           bool streaming) {
    std::vector<unsigned char> source(bytes + 2 * kAround), target(source.size(), 7);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 31);
    std::vector<unsigned char> wanted = target;
    std::copy_n(source.begin() + static_cast<long>(from), bytes,
                wanted.begin() + static_cast<long>(to));
    copy(target.data() + to, source.data() + from, bytes, streaming, set);
    BOOST_TEST((target == wanted),
               bytes << " bytes from " << from << " to " << to << " set " << static_cast<int>(set));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(copies)

BOOST_AUTO_TEST_CASE(any_number_of_bytes_goes_from_any_place_to_any_place) {
    for (const auto set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
        if (!runs_here(set)) continue;
        for (const bool streaming : {false, true}) {
            for (std::size_t bytes = 0; bytes <= 200; ++bytes) {
                check(set, bytes, bytes % 67, bytes * 7 % kAround, streaming);
            }
            for (std::size_t place = 0; place < 66; ++place) {
                check(set, 1000, place, 0, streaming);
                check(set, 1000, 0, place, streaming);
                check(set, 100003, place, place * 3 % 64, streaming);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
