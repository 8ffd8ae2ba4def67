// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "sys/file.hpp"

using namespace batchai::launcher;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(rank_files)

namespace {

struct Logs : RankFiles::Host {
    fs::path directory = make(), rank = directory / "rank.0";
    Loop loop;
    std::vector<Sink::Failure> failures;
    RankFiles files;

    Logs() : files(loop, *this) {}
    void written(std::uint64_t) override {}
    void failed(const Sink::Failure& failure) override { failures.push_back(failure); }
    void idle_again() override {}
    Logs(const Logs&) = delete;
    Logs& operator=(const Logs&) = delete;
    ~Logs() {
        for (const Sink::Failure& failure : failures) fs::remove(failure.kept);
        fs::remove_all(directory);
    }
    static std::string make() {
        std::string name = "/tmp/batchai-test.XXXXXX";
        BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
        return name;
    }
    std::string path() const { return path_of_rank(directory, 0, 1); }
    void write(const std::string& text) {
        files.write(0, Stream::out, text);
        loop.run();
    }
    static std::string content(const fs::path& file) {
        const auto text = batchai::sys::read_file(file, 1 << 20);
        return text ? *text : text.error().message;
    }
    // A link, as another user would have made it.
    static void link(const fs::path& target, const fs::path& name) {
        fs::create_symlink(target, name);
        BOOST_REQUIRE(::lchown(name.c_str(), 12345, 12345) == 0);
    }
};

bool is_root(boost::unit_test::test_unit_id) {
    return ::geteuid() == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_first_start_does_not_go_on_in_files_of_another_job) {
    Logs logs;
    fs::create_directories(logs.rank);
    std::ofstream(logs.rank / "stdout") << "old";
    BOOST_REQUIRE(logs.files.make(0, logs.path()));
    logs.write("new");
    BOOST_TEST(Logs::content(logs.rank / "stdout") == "new");
}

BOOST_AUTO_TEST_CASE(a_restart_does_not_lose_what_is_in_the_files) {
    Logs logs;
    fs::create_directories(logs.rank);
    std::ofstream(logs.rank / "stdout") << "old";
    logs.files.reopen(0, logs.path(), "again");
    logs.write("new");
    BOOST_TEST(Logs::content(logs.rank / "stdout") == "old\nagain\nnew");
    BOOST_TEST(Logs::content(logs.rank / "stderr").empty());
}

BOOST_AUTO_TEST_CASE(a_restart_does_not_fail_where_the_directory_is_gone) {
    Logs logs;
    std::ofstream(logs.rank) << "in the way";
    BOOST_TEST(!logs.files.make(0, logs.path()));
    logs.files.reopen(0, logs.path(), "again");
    logs.write("text");
    BOOST_REQUIRE(logs.failures.size() == 2U);  // stdout and stderr
    BOOST_TEST(Logs::content(logs.failures.front().kept) == "text");
    BOOST_TEST(logs.failures.front().name == logs.rank / "stdout");
}

BOOST_AUTO_TEST_CASE(a_file_of_a_toolkit_is_not_emptied_by_a_second_launch) {
    Logs logs;
    std::ofstream(logs.directory / "stdout-wk-0.txt") << "old";
    BOOST_REQUIRE(logs.files.make(0, logs.path()));
    BOOST_REQUIRE(logs.files.extend(0, logs.directory / "{stream}-wk-0.txt", "again"));
    BOOST_TEST(logs.files.count(0) == 2);
    logs.write("new");
    BOOST_TEST(Logs::content(logs.directory / "stdout-wk-0.txt") == "old\nagain\nnew");
    BOOST_TEST(Logs::content(logs.rank / "stdout") == "new");
}

BOOST_AUTO_TEST_CASE(a_link_of_the_users_own_is_followed) {
    Logs logs;
    fs::create_directories(logs.directory / "elsewhere");
    fs::create_symlink("elsewhere", logs.rank);
    fs::create_symlink("text", logs.rank / "stdout");
    BOOST_REQUIRE(logs.files.make(0, logs.path()));
    logs.write("text");
    BOOST_TEST(Logs::content(logs.directory / "elsewhere/text") == "text");
}

BOOST_AUTO_TEST_CASE(a_link_of_another_users_leads_no_output_into_the_users_own_files,
                     *boost::unit_test::precondition(is_root)) {
    Logs logs;
    const fs::path own = logs.directory / "own";
    std::ofstream(own) << "mine";
    fs::create_directories(logs.rank);
    Logs::link(own, logs.rank / "stdout");
    BOOST_TEST(!logs.files.make(0, logs.path()));
    logs.files.reopen(0, logs.path(), "again");
    logs.write("text");
    BOOST_TEST(Logs::content(own) == "mine");
    BOOST_REQUIRE(logs.failures.size() == 1U);
    BOOST_TEST(logs.failures.front().why ==
               "is not followed: it is a symbolic link of user 12345. Name the place that you "
               "mean, or ask user 12345 to remove the link");
    BOOST_TEST(Logs::content(logs.failures.front().kept) == "text");
}

BOOST_AUTO_TEST_CASE(a_link_of_another_users_is_not_taken_for_a_ranks_directory,
                     *boost::unit_test::precondition(is_root)) {
    Logs logs;
    fs::create_directories(logs.directory / "own");
    Logs::link("own", logs.rank);
    BOOST_TEST(!logs.files.make(0, logs.path()));
    BOOST_TEST(fs::is_empty(logs.directory / "own"));
}

BOOST_AUTO_TEST_CASE(a_file_of_another_users_gets_no_output_and_is_not_emptied,
                     *boost::unit_test::precondition(is_root)) {
    Logs logs;
    fs::create_directories(logs.rank);
    std::ofstream(logs.rank / "stdout") << "theirs";
    BOOST_REQUIRE(::chown((logs.rank / "stdout").c_str(), 12345, 12345) == 0);
    const auto made = logs.files.make(0, logs.path());
    BOOST_REQUIRE(!made);
    BOOST_TEST(made.error().message == (logs.rank / "stdout").string() +
                                           ": is not written to: it belongs to user 12345. Name "
                                           "another place, or ask user 12345 to remove it");
    BOOST_TEST(Logs::content(logs.rank / "stdout") == "theirs");
}

BOOST_AUTO_TEST_CASE(a_fifo_in_place_of_a_ranks_file_stops_no_launch) {
    Logs logs;
    fs::create_directories(logs.rank);
    BOOST_REQUIRE(::mkfifo((logs.rank / "stdout").c_str(), 0600) == 0);
    BOOST_TEST(!logs.files.make(0, logs.path()));
}

BOOST_AUTO_TEST_SUITE_END()
