// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/reader.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace batchai::coll;

BOOST_AUTO_TEST_SUITE(reading)

BOOST_AUTO_TEST_CASE(takes_no_other_process_for_a_rank) {
    const ReadMark own = ReadMark::of_this_process();
    BOOST_TEST(Reader({own}).reaches_all());
    BOOST_TEST(!Reader({own, {own.pid, own.address, own.number + 1}}).reaches_all());
    BOOST_TEST(!Reader({own, {own.pid, 8, own.number}}).reaches_all());
    BOOST_TEST(!Reader({{1 << 30, own.address, own.number}}).reaches_all());
}

BOOST_AUTO_TEST_CASE(reads_memory_of_another_process) {
    std::vector<int> numbers(300'000), copy(numbers.size());
    const pid_t child = ::fork();
    if (child == 0) {
        std::iota(numbers.begin(), numbers.end(), 7);
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int status = 0;
    BOOST_TEST_REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    const std::size_t bytes = numbers.size() * sizeof(int);
    const Reader reader({ReadMark::of_this_process(), {child, 0, 0}});
    BOOST_TEST(reader.read(1, copy.data(), numbers.data(), bytes) == 0);
    BOOST_TEST((copy.front() == 7 && copy.back() == 300'006));
    BOOST_TEST(numbers.back() == 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    BOOST_TEST(reader.read(1, copy.data(), numbers.data(), bytes) == ESRCH);
}

BOOST_AUTO_TEST_CASE(knows_which_memory_others_cannot_read) {
    const std::size_t page = 4096;
    auto* memory = static_cast<char*>(
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    BOOST_TEST_REQUIRE(memory != MAP_FAILED);
    BOOST_TEST(Reader::is_readable(memory, 2 * page));
    BOOST_TEST(Reader::is_readable(nullptr, 0));
    ::mprotect(memory + page, page, PROT_NONE);
    BOOST_TEST(Reader::is_readable(memory, page));
    BOOST_TEST(!Reader::is_readable(memory, page + 1));
    BOOST_TEST(!Reader::is_readable(memory + page, 1));
    ::munmap(memory, 2 * page);
}

BOOST_AUTO_TEST_SUITE_END()
