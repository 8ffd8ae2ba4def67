// SPDX-License-Identifier: Apache-2.0
#include "spank/check/submission.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace batchai;

namespace {

std::string asked(const std::string& line) {
    std::istringstream parts(line);
    std::vector<std::string> words;
    for (std::string word; parts >> word;) words.push_back(word);
    const auto nodes = spank::submission_of(words).nodes;
    return nodes ? nodes->text : "unknown";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(words_of_a_submission)

BOOST_AUTO_TEST_CASE(the_last_option_counts_in_each_of_its_forms) {
    for (const char* line :
         {"sbatch -N2 x", "sbatch -N 2 x", "/usr/bin/sbatch --nodes=2 x", "salloc --nodes 2",
          "sbatch -N3 --nodes=2", "srun -QN2 true", "sbatch --exclusive -N2 x",
          "sbatch -J N3 -o out -N2 x", "sbatch --batchai-job=a.json --job-name -N5 -N2",
          "sbatch --wrap=true -N 2"})
        BOOST_TEST(asked(line) == "2", line);
    const auto range = spank::submission_of({"sbatch", "-N", "2-4"}).nodes;
    BOOST_REQUIRE(range);
    BOOST_TEST(range->least == 2);
    BOOST_TEST(range->most == 4);
}

BOOST_AUTO_TEST_CASE(words_of_the_script_and_doubtful_ones_are_not_taken_for_slurms) {
    for (const char* line :
         {"sbatch", "sbatch x -N2", "sbatch -- x -N2", "sbatch --exclusive x -N2",
          "sbatch -H x -N2", "sbatch --of-a-later-release x -N2", "sbatch -y -N2", "sbatch -N",
          "sbatch -N many", "sbatch -N2,4", "sbatch -N2-", "sbatch --node=2"})
        BOOST_TEST(asked(line) == "unknown", line);
    BOOST_TEST(!spank::submission_of({}).nodes);
}

BOOST_AUTO_TEST_CASE(a_script_says_it_where_the_command_does_not) {
    const std::string script =
        std::filesystem::temp_directory_path() / ("batchai-nodes-" + std::to_string(::getpid()));
    const auto write = [&](const std::string& text) { std::ofstream(script) << text; };
    write("#!/bin/sh\n\n#SBATCH -J a\n# more\n#SBATCH --nodes=3 # of them\ntrue\n#SBATCH -N7\n");
    BOOST_TEST(asked("sbatch -o out " + script) == "3");
    BOOST_TEST(asked("sbatch -N2 " + script) == "2");
    BOOST_TEST(asked("srun " + script) == "unknown");
    for (const char* text :
         {"#!/bin/sh\ntrue\n#SBATCH -N3\n", "#!/bin/sh\n#SBATCH --comment=\"a -N3\"\n",
          "#!/bin/sh\n##SBATCH -N3\n"}) {
        write(text);
        BOOST_TEST(asked("sbatch " + script) == "unknown", text);
    }
    std::filesystem::remove(script);
    BOOST_TEST(asked("sbatch " + script) == "unknown");
}

BOOST_AUTO_TEST_CASE(a_test_and_an_array_are_known_by_slurms_own_words_only) {
    const auto test = spank::submission_of({"/usr/bin/sbatch", "-N", "2", "--test-only", "x"});
    BOOST_TEST((test.is_sbatch && test.is_test && !test.is_array));
    for (const char* option : {"-a1-3", "--array=1-3"})
        BOOST_TEST(spank::submission_of({"sbatch", option, "x"}).is_array, option);
    const auto scripts = spank::submission_of({"sbatch", "x", "--test-only", "--array=1-3"});
    BOOST_TEST((!scripts.is_test && !scripts.is_array));
    BOOST_TEST(!spank::submission_of({"srun", "x"}).is_sbatch);
}

BOOST_AUTO_TEST_CASE(a_script_is_read_as_far_as_slurm_reads_it_for_the_first_component) {
    const std::string script =
        std::filesystem::temp_directory_path() / ("batchai-lines-" + std::to_string(::getpid()));
    const auto asked_by = [&](const std::string& text) {
        std::ofstream(script) << "#!/bin/sh\n" << text;
        return asked("sbatch " + script);
    };
    BOOST_TEST(asked_by("#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -N1\n") == "2");
    BOOST_TEST(asked_by("#SBATCH -N2\n#SBATCH packjob\n#SBATCH -N1\n") == "2");
    BOOST_TEST(asked_by("#SBATCH hetjob\n#SBATCH -N1\n") == "unknown");
    BOOST_TEST(asked_by("#SBATCH -N1\n \t\n  # note\n#SBATCH -N2\ntrue\n#SBATCH -N3\n") == "2");
    BOOST_TEST(asked_by("#SBATCH -N1\n  true # note\n#SBATCH -N2\n") == "1");
    std::filesystem::remove(script);
}

BOOST_AUTO_TEST_CASE(a_relative_script_is_not_looked_for_beside_the_directory_of_chdir) {
    const std::string script = "batchai-beside-" + std::to_string(::getpid());
    std::ofstream(script) << "#!/bin/sh\n#SBATCH -N1\n";
    BOOST_TEST(asked("sbatch " + script) == "1");
    for (const char* option : {"-D /tmp", "-D/tmp", "--chdir=/tmp", "--chd=/tmp", "-QD /tmp"})
        BOOST_TEST(asked("sbatch " + std::string(option) + " " + script) == "unknown", option);
    BOOST_TEST(asked("sbatch -D /tmp -N4 " + script) == "4");
    BOOST_TEST(asked("sbatch -D /tmp " + std::filesystem::absolute(script).string()) == "1");
    std::filesystem::remove(script);
}

BOOST_AUTO_TEST_CASE(the_nodes_of_a_step_are_not_taken_for_the_jobs) {
    BOOST_TEST(asked("srun -N1 true") == "1");
    for (const char* option : {"--jobid=7", "--jobi=7"})
        BOOST_TEST(asked("srun " + std::string(option) + " -N1 true") == "unknown", option);
    for (const char* variable : {"SLURM_JOB_ID", "SLURM_JOBID"}) {
        ::setenv(variable, "7", 1);
        BOOST_TEST(asked("/usr/bin/srun -N1 true") == "unknown", variable);
        BOOST_TEST(asked("sbatch -N1 true") == "1", variable);
        ::unsetenv(variable);
    }
}

BOOST_AUTO_TEST_CASE(an_array_is_known_by_the_start_of_its_option_and_by_the_variable) {
    for (const char* option : {"--ar=0-1", "--arr=0-1"})
        BOOST_TEST(spank::submission_of({"sbatch", option, "x"}).is_array, option);
    for (const char* option : {"--account=a", "--a=0", "--arrays=0-1"})
        BOOST_TEST(!spank::submission_of({"sbatch", option, "x"}).is_array, option);
    ::setenv("SBATCH_ARRAY_INX", "0-1", 1);
    BOOST_TEST(spank::submission_of({"sbatch", "x"}).is_array);
    BOOST_TEST(!spank::submission_of({"srun", "x"}).is_array);
    ::unsetenv("SBATCH_ARRAY_INX");
}

BOOST_AUTO_TEST_SUITE_END()
