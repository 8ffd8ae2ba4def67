// SPDX-License-Identifier: Apache-2.0
#include "sys/digest.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using batchai::sys::file_sha256;
using batchai::sys::sha256;

// The example of FIPS 180-4.
BOOST_AUTO_TEST_CASE(a_digest_is_that_of_the_standard) {
    char name[] = "/tmp/batchai-test-XXXXXX";
    const std::string path = ::mkdtemp(name);
    std::ofstream(path + "/file") << "abc";
    BOOST_TEST(*file_sha256(path + "/file") ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(sha256("abc") == *file_sha256(path + "/file"));
    BOOST_TEST(file_sha256(path + "/none").error().message ==
               path + "/none: No such file or directory");
    std::filesystem::remove_all(path);
}
