// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/wire.hpp"

#include <batchai/collectives.h>

#include <boost/test/unit_test.hpp>

using namespace batchai::coll;

BOOST_AUTO_TEST_SUITE(tag)

BOOST_AUTO_TEST_CASE(a_different_call_has_a_different_tag) {
    Signature signature;
    signature.count = 100;
    const Tag first = Tag::of(5, signature);
    BOOST_TEST(first.bits == Tag::of(5, signature).bits);
    BOOST_TEST(first.bits != Tag::of(6, signature).bits);
    BOOST_TEST(first.bits != first.at(1, 0).bits);
    BOOST_TEST(first.at(1, 0).bits != first.at(1, 1).bits);
    BOOST_TEST(first.from(1).bits != first.from(2).bits);
    Signature other = signature;
    other.count = 101;
    BOOST_TEST(first.bits != Tag::of(5, other).bits);
    other = signature;
    other.type = BATCHAI_COLL_INT64;
    BOOST_TEST(first.bits != Tag::of(5, other).bits);
    for (std::uint8_t type = 0; type < kLastType; ++type) {
        Signature next = other;
        other.type = type;
        next.type = type + 1;
        BOOST_TEST(Tag::of(5, next).bits != Tag::of(5, other).bits);
        BOOST_TEST((Tag::of(5, next).bits ^ Tag::of(5, other).bits) < 1u << 22);  // its own bits
    }
    other = signature;
    other.before = 0.5;
    BOOST_TEST(first.bits != Tag::of(5, other).bits);
    std::swap(other.before, other.after);
    BOOST_TEST(first.bits != Tag::of(5, other).bits);
    other = signature;
    other.root = 3;
    BOOST_TEST(first.bits != Tag::of(5, other).bits);
}

BOOST_AUTO_TEST_CASE(notes_are_of_a_class_of_their_own) {
    Signature signature;
    const std::uint64_t data = Tag::of(~0ull, signature).at(7, 31).from(65535).bits;
    BOOST_TEST((data & Tag::kClass) == 0u);
    BOOST_TEST((Tag::of(Note::entered).bits & Tag::kClass) != 0u);
    BOOST_TEST((Tag::of(Note::failed).bits & Tag::kClass) !=
               (Tag::of(Note::entered).bits & Tag::kClass));
}

BOOST_AUTO_TEST_SUITE_END()
