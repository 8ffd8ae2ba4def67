// SPDX-License-Identifier: Apache-2.0
#include "sys/digest.hpp"

#include <boost/test/unit_test.hpp>

using batchai::sys::sha256;

// The examples of FIPS 180-4.
BOOST_AUTO_TEST_CASE(digests_are_those_of_the_standard) {
    BOOST_TEST(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
