// SPDX-License-Identifier: Apache-2.0
#include "collectives/common/chunking.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace batchai::coll;

BOOST_AUTO_TEST_SUITE(chunking)

BOOST_AUTO_TEST_CASE(parts_cover_a_buffer_without_gap_or_overlap) {
    for (const std::size_t element : {1u, 4u, 8u}) {
        for (const std::size_t count : {0u, 1u, 7u, 16u, 17u, 1000u, 65537u}) {
            for (const int parts : {1, 2, 3, 7, 16}) {
                std::size_t at = 0;
                for (int i = 0; i < parts; ++i) {
                    const Range part = part_of(count, element, i, parts);
                    BOOST_TEST(part.begin == at);
                    BOOST_TEST(part.end >= part.begin);
                    at = part.end;
                }
                BOOST_TEST(at == count);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(two_parts_never_share_a_cache_line) {
    for (int i = 1; i < 7; ++i) {
        const Range part = part_of(100'003, 4, i, 7);
        BOOST_TEST(part.begin * 4 % kAlignment == 0u);
    }
}

BOOST_AUTO_TEST_CASE(parts_of_a_huge_buffer_do_not_overflow) {
    const std::size_t count = std::numeric_limits<std::size_t>::max() / 16;
    BOOST_TEST(part_of(count, 8, 1023, 1024).end == count);
    const Range middle = part_of(count, 8, 512, 1024);
    BOOST_TEST(middle.begin > count / 2 - 64);
    BOOST_TEST(middle.begin < count / 2 + 64);
}

BOOST_AUTO_TEST_CASE(chunks_cover_a_buffer) {
    BOOST_TEST(chunks_of(0, 10) == 0u);
    BOOST_TEST(chunks_of(10, 10) == 1u);
    BOOST_TEST(chunks_of(11, 10) == 2u);
    BOOST_TEST((chunk_of(11, 10, 1) == Range{10, 11}));
    const std::size_t most = std::numeric_limits<std::size_t>::max();
    BOOST_TEST(chunks_of(most, 2) == most / 2 + 1);
}

BOOST_AUTO_TEST_CASE(a_chunk_fits_the_cache_and_holds_a_byte_of_every_rank) {
    for (const int ranks : {1, 2, 8, 128}) {
        BOOST_TEST(chunk_bytes(ranks, 0, ranks, false) >= 16u << 10);
        BOOST_TEST(chunk_bytes(ranks, 0, ranks, false) <= 256u << 10);
    }
    BOOST_TEST(chunk_bytes(8, 0, 1'000'000, false) >= 1'000'000u);
    BOOST_TEST(chunk_bytes(4, 0, 8, false) < chunk_bytes(4, 0, 8, true));
}

BOOST_AUTO_TEST_CASE(a_short_message_takes_few_rails) {
    BOOST_TEST(rails_for(0, 4) == 1);
    BOOST_TEST(rails_for(8191, 4) == 1);
    BOOST_TEST(rails_for(8192, 4) == 2);
    BOOST_TEST(rails_for(1u << 30, 4) == 4);
    for (const int rails : {1, 3, 8, 64}) {
        for (std::size_t bytes = 1; bytes <= 1u << 20; bytes += bytes / 7 + 1) {
            const std::size_t chunk = std::min<std::size_t>(bytes, 128u << 10);
            const Range first = part_of(chunk, 1, 0, rails_for(bytes, rails));
            BOOST_TEST(first.size() <= largest_part(128u << 10, rails));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_message_has_chunks_that_overlap) {
    const std::size_t least = chunk_bytes(4, 0, 8, false), most = chunk_bytes(4, 0, 8, true);
    BOOST_TEST(chunk_of_message(8, least, most) == least);
    BOOST_TEST(chunk_of_message(4u << 20, least, most) == 256u << 10);
    BOOST_TEST(chunk_of_message(1u << 30, least, most) == most);
    BOOST_TEST(chunk_of_message(1u << 30, least, least) == least);
    BOOST_TEST(chunk_of_message(1u << 30, least, 4096) == 4096u);
}

BOOST_AUTO_TEST_SUITE_END()
