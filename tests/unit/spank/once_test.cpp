// SPDX-License-Identifier: Apache-2.0
#include "spank/state.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <boost/test/unit_test.hpp>

#include "spank/protocol.hpp"
#include "tests/unit/printing.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using spank::Once;
using Result = Once::Result;

namespace {

struct Job {
    Job() : fd(open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        directory.write(spank::kPreparationFile, "");
        BOOST_REQUIRE(first.open(fd.get()));
        BOOST_REQUIRE(second.open(fd.get()));
    }
    Result read(const Once& once) { return once.read(line, sizeof line); }

    test::TemporaryDirectory directory;
    spank::Descriptor fd;
    Once first;
    Once second;
    char line[spank::kLineMaximum];
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(once, Job)

BOOST_AUTO_TEST_CASE(the_first_has_to_do_it_and_the_next_finds_it_done) {
    BOOST_TEST(first.try_lock());
    BOOST_TEST(!second.try_lock());
    BOOST_TEST(read(first) == Result::none);
    BOOST_TEST(first.note_start());
    BOOST_TEST(read(second) == Result::started);
    BOOST_TEST(first.note_success());
    BOOST_TEST(read(second) == Result::succeeded);
}

BOOST_AUTO_TEST_CASE(a_failure_is_found_with_its_line) {
    BOOST_TEST(first.note_failure("a line, in many more words than what comes then"));
    BOOST_TEST(first.note_failure("the line"));
    BOOST_TEST(read(second) == Result::failed);
    BOOST_TEST(line == std::string("the line"));
}

BOOST_AUTO_TEST_CASE(a_long_line_is_cut) {
    BOOST_TEST(first.note_failure(std::string(10000, 'x').c_str()));
    BOOST_TEST(read(second) == Result::failed);
    BOOST_TEST(line == std::string(spank::kLineMaximum - 1, 'x'));
}

BOOST_AUTO_TEST_CASE(the_lock_files_descriptor_locks_and_cannot_write) {
    const int waiter = dup(first.lock_file());
    BOOST_TEST(flock(waiter, LOCK_EX | LOCK_NB) == 0);
    BOOST_TEST(write(waiter, "ok\n", 3) < 0);
    close(waiter);
    BOOST_TEST(first.try_lock());
    BOOST_TEST(!second.try_lock());
}

BOOST_AUTO_TEST_CASE(a_job_without_the_file_cannot_open_it) {
    std::filesystem::remove(directory / spank::kPreparationFile);
    BOOST_TEST(!Once().open(fd.get()));
}

BOOST_AUTO_TEST_SUITE_END()
