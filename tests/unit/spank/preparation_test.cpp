// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/preparation.hpp"

#include <boost/test/unit_test.hpp>

#include "job/record.hpp"
#include "tests/unit/printing.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using Kind = job::Event::Kind;

namespace {

struct Node {
    Node() {
        std::filesystem::create_directory(directory / "record");
        std::filesystem::create_directory(directory / "logs");
        what.output = directory / "logs";
        what.log_node = what.node = "n1";
        what.record = directory / "record";
        what.seconds = 20;
    }

    bool has(const std::string& file, const std::string& text) const {
        return directory.read("logs/" + file).find(text) != std::string::npos;
    }

    test::TemporaryDirectory directory;
    spank::Preparation what;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(preparation, Node)

BOOST_AUTO_TEST_CASE(success_leaves_logs_and_events) {
    what.command = "echo done";
    what.note = "the site says";
    BOOST_TEST(spank::prepare(what).has_value());
    BOOST_TEST(has("stdout-job_prep-n1.txt", "the site says\ndone\n"));
    BOOST_TEST(has("execution-n1.log", "the site says"));
    BOOST_TEST(has("execution-n1.log", "preparation succeeded on n1"));
    BOOST_TEST(std::filesystem::exists(directory / "logs/stderr-job_prep-n1.txt"));
    const auto events = job::read_events(what.record);
    BOOST_REQUIRE(events.size() == 2U);
    BOOST_TEST(events[0].kind == Kind::preparing);
    BOOST_TEST(events[1].kind == Kind::prepared);
}

BOOST_AUTO_TEST_CASE(the_execution_log_reads_as_the_services) {
    what.command = "echo out; for i in $(seq 1000); do echo line $i; done >&2; exit 9";
    BOOST_TEST(!spank::prepare(what));
    BOOST_TEST(has("execution-n1.log", " Executing 'job environment preparation' on n1\n"));
    BOOST_TEST(has("execution-n1.log",
                   " job environment preparation failed on n1. Output:\n>>>   line 7"));
    BOOST_TEST(has("execution-n1.log", "\n>>>   line 1000\n20"));
    BOOST_TEST(!has("execution-n1.log", "line 100\n"));
    what.command = "echo only; exit 9";
    what.log_node = "n2";
    BOOST_TEST(!spank::prepare(what));
    BOOST_TEST(has("execution-n2.log", "Output:\n>>>   only\n20"));
}

BOOST_AUTO_TEST_CASE(a_failure_names_the_log_outside_of_the_job) {
    what.outside = "/srv/out";
    what.command = "exit 9";
    BOOST_TEST(spank::prepare(what).error().message ==
               "batchai: n1: job preparation failed with exit code 9; see "
               "/srv/out/stderr-job_prep-n1.txt");
}

BOOST_AUTO_TEST_CASE(a_script_that_is_not_there_is_a_failure) {
    what.expect = directory / "train.py";
    BOOST_TEST(!spank::prepare(what));
    what.command = "touch " + what.expect;
    BOOST_TEST(spank::prepare(what).has_value());
}

BOOST_AUTO_TEST_CASE(a_script_that_is_a_directory_is_a_failure) {
    what.expect = directory / ".";
    const auto done = spank::prepare(what);
    BOOST_REQUIRE(!done);
    BOOST_TEST(done.error().message.ends_with("the job's script is not a file"));
}

BOOST_AUTO_TEST_CASE(the_same_preparation_is_skipped_where_the_site_lets_it) {
    setenv("XDG_CACHE_HOME", (directory / "cache").c_str(), 1);
    what.command = "echo ran";
    what.cache_days = 1;
    for (int i = 0; i < 2; ++i) BOOST_TEST(spank::prepare(what).has_value());
    unsetenv("XDG_CACHE_HOME");
    const std::string line = "job preparation on n1: skipped: the same one succeeded at ";
    BOOST_TEST(directory.read("logs/stdout-job_prep-n1.txt").starts_with("ran\n" + line));
    BOOST_TEST(has("execution-n1.log", line));
    const auto events = job::read_events(what.record);
    BOOST_TEST(events.back().kind == Kind::prepared);
    BOOST_TEST(events.back().message.starts_with(line));
    BOOST_TEST(events.back().message.ends_with(
        "remove " + directory / "cache/batchai/preparation/n1" + " to run it again"));
}

BOOST_AUTO_TEST_CASE(an_output_directory_that_is_not_there_is_a_failure) {
    what.output = directory / "elsewhere/logs";
    what.command = "true";
    BOOST_TEST(!spank::prepare(what));
}

BOOST_AUTO_TEST_SUITE_END()
