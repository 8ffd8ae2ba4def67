// SPDX-License-Identifier: Apache-2.0
#include "sys/unique_fd.hpp"

#include <fcntl.h>

#include <boost/test/unit_test.hpp>

using namespace batchai::sys;

namespace {
bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) != -1;
}
int open_null() {
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}
}  // namespace

BOOST_AUTO_TEST_CASE(closes_what_it_owns) {
    int fd = -1;
    {
        const UniqueFd owner(open_null());
        fd = owner.get();
        BOOST_TEST(is_open(fd));
    }
    BOOST_TEST(!is_open(fd));
}

BOOST_AUTO_TEST_CASE(moves_and_hands_over) {
    UniqueFd first(open_null());
    const int fd = first.get();
    UniqueFd second(std::move(first));
    BOOST_TEST(second.get() == fd);
    UniqueFd third(open_null());
    const int old = third.get();
    third = std::move(second);
    BOOST_TEST(!is_open(old));
    BOOST_TEST(third.release() == fd);
    BOOST_TEST(!third);
    BOOST_TEST(is_open(fd));
    ::close(fd);
}
