// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/memory.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/printing.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;

namespace {

spank::Inputs of(const std::string& name) {
    return {name + "-identity", name + "-digest", {{"file", name}}};
}

struct Home {
    Home() { setenv("XDG_CACHE_HOME", (directory / "cache").c_str(), 1); }
    ~Home() { unsetenv("XDG_CACHE_HOME"); }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

    static bool knows(const std::string& name, double earliest = 0) {
        return spank::Memory("n1").succeeded_since(earliest, of(name)).has_value();
    }
    static void start(const std::string& name) { spank::Memory("n1").note_start(of(name)); }
    static void end(const std::string& name, double time = 100) {
        spank::Memory("n1").note_success(of(name), of(name), time);
    }
    static void succeed(const std::string& name, double time = 100) {
        start(name);
        end(name, time);
    }
    test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(memory, Home)

BOOST_AUTO_TEST_CASE(a_success_is_known_as_long_as_it_counts) {
    BOOST_TEST(!knows("a"));
    succeed("a", 100);
    BOOST_TEST(*spank::Memory("n1").succeeded_since(99, of("a")) == 100);
    BOOST_TEST(!knows("a", 101));
    BOOST_TEST(!knows("b"));
    BOOST_TEST(!spank::Memory("n2").succeeded_since(0, of("a")));
}

BOOST_AUTO_TEST_CASE(only_the_last_preparation_counts) {
    succeed("a");
    succeed("b");
    BOOST_TEST(!knows("a"));
    BOOST_TEST(knows("b"));
}

BOOST_AUTO_TEST_CASE(a_command_that_failed_or_never_ended_is_not_known) {
    succeed("a");
    start("a");
    BOOST_TEST(!knows("a"));
    spank::Memory("n1").forget();
    BOOST_TEST(!knows("a"));
}

BOOST_AUTO_TEST_CASE(two_commands_that_overlap_are_not_known) {
    start("a");
    start("b");
    end("a");
    end("b");
    BOOST_TEST(!knows("a"));
    BOOST_TEST(!knows("b"));
}

BOOST_AUTO_TEST_CASE(the_same_one_twice_at_once_is_known) {
    start("a");
    start("a");
    end("a", 100);
    end("a", 101);
    BOOST_TEST(knows("a", 101));
}

BOOST_AUTO_TEST_CASE(one_whose_files_changed_while_it_ran_is_not_known) {
    auto after = of("a");
    after.read["new"] = "x";
    start("a");
    spank::Memory("n1").note_success(of("a"), after, 100);
    BOOST_TEST(knows("a"));
    after.read["file"] = "changed";
    start("a");
    spank::Memory("n1").note_success(of("a"), after, 100);
    BOOST_TEST(!knows("a"));
}

BOOST_AUTO_TEST_CASE(the_file_is_the_users_alone_and_removing_it_forgets) {
    succeed("a");
    const std::string file = spank::Memory("n1").file();
    BOOST_TEST(file == directory / "cache/batchai/preparation/n1");
    BOOST_TEST(std::filesystem::status(file).permissions() == std::filesystem::perms(0600));
    BOOST_TEST((std::filesystem::status(directory / "cache/batchai/preparation").permissions() ==
                std::filesystem::perms(0700)));
    std::filesystem::remove(file);
    BOOST_TEST(!knows("a"));
}

BOOST_AUTO_TEST_CASE(a_directory_that_others_can_write_to_is_not_used) {
    succeed("a");
    std::filesystem::permissions(directory / "cache/batchai/preparation",
                                 std::filesystem::perms(0777));
    BOOST_TEST(!knows("a"));
    BOOST_TEST(spank::Memory("n1").file().empty());
}

BOOST_AUTO_TEST_CASE(a_spoiled_file_is_no_success) {
    succeed("a");
    for (const char* text :
         {"", "succeeded", "succeeded a", "succeeded a a-digest x", "failed a a-digest 100"}) {
        directory.write("cache/batchai/preparation/n1", text);
        BOOST_TEST(!knows("a", 1), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
