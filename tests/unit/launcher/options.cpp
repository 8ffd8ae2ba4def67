// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/options.hpp"
#include "tests/unit/printing.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(options)

namespace {

std::variant<Options, int> parse(std::vector<std::string> words) {
    words.insert(words.begin(), "batchai-launch");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return parse_options(static_cast<int>(words.size()), argv.data());
}

Options good(const std::vector<std::string>& words) {
    auto parsed = parse(words);
    BOOST_REQUIRE(std::holds_alternative<Options>(parsed));
    return std::get<Options>(parsed);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_command_keeps_its_own_options) {
    const auto options = good({"--local", "2", "-n", "4", "prog", "-n", "7", "--", "x"});
    BOOST_TEST(*options.local_nodes == 2);
    BOOST_TEST(*options.ranks == 4);
    BOOST_TEST(
        options.programs.front().argv == (std::vector<std::string>{"prog", "-n", "7", "--", "x"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(two_dashes_begin_the_command) {
    const auto options = good({"--local", "2", "--", "-odd", "--", "x"});
    BOOST_TEST(options.programs.front().argv == (std::vector<std::string>{"-odd", "--", "x"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(colons_separate_programs_of_one_job) {
    const auto options =
        good({"--local", "1", "-n",     "1",    "--env", "A=1=2", "./a", "x",  "--", "y", ":",
              "-n",      "2", "--wdir", "/tmp", "--env", "B=",    "--",  "-b", ":",  "z"});
    BOOST_REQUIRE(options.programs.size() == 2U);
    BOOST_TEST(*options.ranks == 3);
    const Program& a = options.programs[0];
    const Program& b = options.programs[1];
    BOOST_TEST(a.ranks == 1);
    BOOST_TEST(a.argv == (std::vector<std::string>{"./a", "x", "--", "y"}),
               boost::test_tools::per_element());
    BOOST_TEST(a.environment.at("A") == "1=2");
    BOOST_TEST(a.directory.empty());
    BOOST_TEST(b.ranks == 2);
    // After "--" a colon is an argument.
    BOOST_TEST(b.argv == (std::vector<std::string>{"-b", ":", "z"}),
               boost::test_tools::per_element());
    BOOST_TEST(b.environment.at("B").empty());
    BOOST_TEST(b.directory == "/tmp");
}

BOOST_AUTO_TEST_CASE(a_file_has_a_program_in_each_line) {
    const std::string path = "options-test." + std::to_string(::getpid());
    std::ofstream(path) << "# two\n\n-n 1 ./a 'b c' \\\n d\n-n 2 --env X=\"1 2\" ./b : -n 1 ./c\n";
    for (const char* option : {"--configfile", "-configfile"}) {
        const auto options = good({"--local", "1", option, path});
        BOOST_REQUIRE(options.programs.size() == 3U);
        BOOST_TEST(*options.ranks == 4);
        BOOST_TEST(options.programs[0].argv == (std::vector<std::string>{"./a", "b c", "d"}),
                   boost::test_tools::per_element());
        BOOST_TEST(options.programs[1].environment.at("X") == "1 2");
    }
    std::ofstream(path) << "./alone\n";
    BOOST_TEST(!good({"--configfile", path}).ranks);
    std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(local_may_leave_the_number_of_nodes_to_the_job_file) {
    const auto options = good({"--local", "--job", "job.json"});
    BOOST_TEST(options.local);
    BOOST_TEST(!options.local_nodes.has_value());
}

BOOST_AUTO_TEST_CASE(ranks_are_numbered_in_blocks_unless_asked_otherwise) {
    BOOST_TEST(!good({"prog"}).order);  // the job's
    BOOST_TEST(good({"--map", "block", "prog"}).order == Order::block);
    BOOST_TEST(good({"--map=cyclic", "prog"}).order == Order::cyclic);
}

BOOST_AUTO_TEST_CASE(signals_have_names_and_numbers) {
    for (const char* name : {"USR1", "SIGUSR1", "usr1", "10"}) {
        BOOST_TEST(good({"--end-on", name, "prog"}).settings.end_on == 10);
    }
}

BOOST_AUTO_TEST_CASE(ranks_see_all_gpus_unless_asked_otherwise) {
    BOOST_TEST(good({"prog"}).settings.bind);
    BOOST_TEST(good({"--bind", "core", "prog"}).settings.bind);
    BOOST_TEST(!good({"--bind", "none", "prog"}).settings.bind);
    BOOST_TEST(!good({"prog"}).settings.own_gpus_only);
    BOOST_TEST(!good({"--gpu-visibility", "all", "prog"}).settings.own_gpus_only);
    BOOST_TEST(good({"--gpu-visibility", "rank", "prog"}).settings.own_gpus_only);
    BOOST_TEST(good({"--compat", "tf1", "prog"}).settings.compat == "tf1");
}

BOOST_AUTO_TEST_CASE(ends_to_requeue_on_are_a_list) {
    const auto options = good({"--requeue-on", "signal,node-fail", "prog", "failure"});
    BOOST_TEST(options.requeue.on == (std::vector<std::string>{"signal", "node-fail"}),
               boost::test_tools::per_element());
    BOOST_TEST(options.programs.front().argv.size() == 2U);
}

BOOST_AUTO_TEST_CASE(wrong_usage_ends_with_125) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{},
          {"--job", "f", "prog"},
          {"-n", "0", "prog"},
          {"-n", "2", "--ranks-per-node", "2", "prog"},
          {"--job", "f", "-n", "2"},
          {"--local", "2", ""},
          {"--timeout", "nan", "prog"},
          {"--timeout", "inf", "prog"},
          {"--timeout", "-1", "prog"},
          {"--timeout", "0", "prog"},
          {"--json", "prog"},
          {"--grace", "-1", "prog"},
          {"--grace", "nan", "prog"},
          {"--end-on", "KILL", "prog"},
          {"--end-on", "TERM", "prog"},
          {"--end-on", "nonsense", "prog"},
          {"--map", "0", "prog"},
          {"--gpu-visibility", "1", "prog"},
          {"--compat", "tf2", "prog"},
          {"--bind", "socket", "prog"},
          {"--min-nodes", "2", "prog"},
          {"--restarts", "1", "--min-nodes", "1", "-n", "2", "prog"},
          {"--restarts", "-1", "prog"},
          {"--max-requeues", "2", "prog"},
          {"--requeue-on", "sunday", "prog"},
          {"--requeue-on", "", "prog"},
          {"-n", "1", "a", ":", "b"},
          {"a", ":", "-n", "1", "b"},
          {"-n", "1", "a", ":"},
          {"-n", "1", ":", "-n", "1", "b"},
          {"-n", "1", "a", ":", "-l", "b"},
          {"--ranks-per-node", "1", "a", ":", "b"},
          {"--env", "A", "a"},
          {"--configfile", "/dev/null"},
          {"--configfile", "/no/such"},
          {"--configfile", "/dev/null", "a"},
          {"--job", "f", "--wdir", "/tmp"},
          {"--no-such"}}) {
        const auto parsed = parse(words);
        BOOST_REQUIRE(std::holds_alternative<int>(parsed));
        BOOST_TEST(std::get<int>(parsed) == 125);
    }
}

BOOST_AUTO_TEST_SUITE_END()
