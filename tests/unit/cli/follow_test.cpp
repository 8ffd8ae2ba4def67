// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_files.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/temporary_directory.hpp"

namespace batchai::cli {
namespace {

// A job as a sequence of steps: each pause of the follower takes one.
struct Following {
    test::TemporaryDirectory directory;
    std::string seen;
    FileFollower file{directory / "stdout.txt", [this](std::string_view bytes) {
                          seen += bytes;
                          return sys::Result<void>();
                      }};
    std::vector<std::function<void()>> steps;
    std::size_t next = 0;
    int waited = 0;
    int found = 0;

    // The job is over once all steps are taken.
    sys::Result<bool> run() {
        FollowCallbacks callbacks;
        callbacks.is_over = [this]() -> sys::Result<bool> { return next >= steps.size(); };
        callbacks.waiting = [this] { ++waited; };
        callbacks.found = [this] { ++found; };
        callbacks.pause = [this] { steps.at(next++)(); };
        return follow(file, callbacks);
    }
    void append(const std::string& text) {
        std::ofstream(directory / "stdout.txt", std::ios::app) << text;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(follow_a_file, Following)

BOOST_AUTO_TEST_CASE(prints_every_byte_in_order) {
    append("one\n");
    steps = {[&] { append("two\n"); }, [] {}, [&] { append(std::string(200'000, 'x')); }};
    BOOST_TEST(*run());
    BOOST_TEST(seen == "one\ntwo\n" + std::string(200'000, 'x'));
    BOOST_TEST(found == 1);
    BOOST_TEST(waited == 0);
}

BOOST_AUTO_TEST_CASE(reads_what_came_between_the_last_read_and_the_end) {
    append("a");
    // The end is seen only after this write, so the follower must read once more.
    steps = {[&] { append("last words"); }};
    BOOST_TEST(*run());
    BOOST_TEST(seen == "alast words");
}

BOOST_AUTO_TEST_CASE(waits_for_a_file_and_says_so_once) {
    steps = {[] {}, [] {}, [&] { append("late"); }, [] {}};
    BOOST_TEST(*run());
    BOOST_TEST(seen == "late");
    BOOST_TEST(waited == 1);
    BOOST_TEST(found == 1);
}

BOOST_AUTO_TEST_CASE(ends_without_a_file_when_the_job_left_none) {
    steps = {[] {}};
    BOOST_TEST(!*run());
    BOOST_TEST(found == 0);
}

BOOST_AUTO_TEST_CASE(starts_again_where_a_requeued_job_made_the_file_anew) {
    append("first run, long\n");
    steps = {[&] { directory.write("stdout.txt", "again\n"); }, [] {}};
    BOOST_TEST(*run());
    BOOST_TEST(seen == "first run, long\nagain\n");
}

BOOST_AUTO_TEST_CASE(passes_on_an_empty_file) {
    append("");
    steps = {[] {}};
    BOOST_TEST(*run());
    BOOST_TEST(seen.empty());
}

BOOST_AUTO_TEST_CASE(keeps_every_byte_value) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    append(bytes);
    BOOST_TEST(*run());
    BOOST_TEST((seen == bytes));
}

BOOST_AUTO_TEST_CASE(refuses_a_directory) {
    std::filesystem::create_directory(directory / "stdout.txt");
    BOOST_TEST(!run());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
