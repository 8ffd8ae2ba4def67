// SPDX-License-Identifier: Apache-2.0
#include "sys/digest.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/temporary_directory.hpp"

using batchai::sys::file_sha256;
using batchai::sys::sha256;

// The example of FIPS 180-4.
BOOST_AUTO_TEST_CASE(a_digest_is_that_of_the_standard) {
    const batchai::test::TemporaryDirectory directory;
    const std::string file = directory.write("file", "abc");
    BOOST_TEST(*file_sha256(file) ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(sha256("abc") == *file_sha256(file));
    const std::string none = directory / "none";
    BOOST_TEST(file_sha256(none).error().message == none + ": No such file or directory");
}
