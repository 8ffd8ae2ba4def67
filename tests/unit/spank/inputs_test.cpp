// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/memory.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/temporary_directory.hpp"

using namespace batchai;

namespace {

struct Job {
    std::string digest(const std::string& command) const {
        return spank::inputs_of(command, "n1", mounts, environment).digest;
    }
    // Whether the preparation is another one with that value of a variable.
    bool depends_on(const std::string& command, const std::string& variable) const {
        Job other = *this;
        other.environment[variable] += "other";
        return digest(command) != other.digest(command);
    }
    std::string mounts;
    std::map<std::string, std::string> environment{{"HOME", "/nowhere"}};
};

struct Files : Job {
    test::TemporaryDirectory directory;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(inputs)

BOOST_AUTO_TEST_CASE(the_same_inputs_have_the_same_digest) {
    const Job job;
    BOOST_TEST(job.digest("true") == job.digest("true"));
    BOOST_TEST(job.digest("true").size() == 64U);
    BOOST_TEST(job.digest("true") != job.digest("true "));
    BOOST_TEST(job.digest("true") != spank::inputs_of("true", "n2", "", job.environment).digest);
    Job other;
    other.mounts = "/data at data";
    BOOST_TEST(job.digest("true") != other.digest("true"));
}

BOOST_AUTO_TEST_CASE(parts_do_not_run_into_one_another) {
    BOOST_TEST(spank::inputs_of("a", "n1", "b", {}).digest !=
               spank::inputs_of("ab", "n1", "", {}).digest);
    BOOST_TEST(spank::inputs_of("a", "n1", "", {{"A", "1\n3:B=2"}}).digest !=
               spank::inputs_of("a", "n1", "", {{"A", "1"}, {"B", "2"}}).digest);
}

BOOST_AUTO_TEST_CASE(the_environment_is_an_input_except_variables_of_the_job) {
    const Job job;
    BOOST_TEST(job.depends_on("true", "PATH"));
    BOOST_TEST(job.depends_on("true", "AZ_BATCHAI_NUM_GPUS"));
    for (const char* name : {"SLURM_JOB_ID", "AZ_BATCHAI_JOB_TEMP", "AZ_BATCHAI_JOB_TEMP_DIR",
                             "AZ_BATCHAI_STDOUTERR_DIR", "BATCHAI_JOB_FILE", "SSH_TTY", "_"})
        BOOST_TEST(!job.depends_on("true", name), name);
}

BOOST_AUTO_TEST_CASE(a_variable_in_the_command_is_an_input) {
    const Job job;
    BOOST_TEST(job.depends_on("cd $AZ_BATCHAI_JOB_TEMP && wget it", "AZ_BATCHAI_JOB_TEMP"));
    BOOST_TEST(job.depends_on("echo ${SLURM_JOB_ID}", "SLURM_JOB_ID"));
}

BOOST_FIXTURE_TEST_CASE(a_variable_in_a_script_is_an_input, Files) {
    const std::string script = directory.write("prep.sh", "cd $AZ_BATCHAI_JOB_TEMP\n");
    BOOST_TEST(depends_on("bash " + script, "AZ_BATCHAI_JOB_TEMP"));
    BOOST_TEST(!depends_on("bash " + script, "SLURM_JOB_ID"));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_the_command_names_counts_however_it_is_named, Files) {
    std::filesystem::create_directory(directory / "code");
    environment["HOME"] = environment["CODE"] = directory / "code";
    for (const auto& command :
         {"bash " + directory / "code/prep.sh", "bash '" + directory / "code/prep.sh'",
          "cd " + directory / "code && ./prep.sh", std::string("bash $CODE/prep.sh"),
          std::string("bash \"${CODE}/prep.sh\";true"), std::string("bash ~/prep.sh"),
          std::string("cd $CODE;bash<prep.sh")}) {
        directory.write("code/prep.sh", "true");
        const std::string before = digest(command);
        BOOST_TEST(before == digest(command));
        directory.write("code/prep.sh", "longer");
        BOOST_TEST(before != digest(command), command);
    }
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_touched_is_another_one, Files) {
    const std::string file = directory.write("prep.sh", "true");
    const std::string before = digest(file);
    std::filesystem::last_write_time(
        file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    BOOST_TEST(before != digest(file));
    std::filesystem::remove(file);
    BOOST_TEST(before != digest(file));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_the_command_writes_may_change_but_not_one_it_reads, Files) {
    const std::string log = directory / "log";
    const std::string script = directory.write("prep.sh", "true");
    const auto inputs = [&] {
        return spank::inputs_of("bash " + script + " >>" + log + " && touch " + directory / "made",
                                "n1", "", {});
    };
    const auto before = inputs();
    directory.write("log", "x");
    directory.write("made", "");
    const auto first = inputs();
    BOOST_TEST(spank::unchanged(before, first));
    BOOST_TEST(before.identity == first.identity);
    BOOST_TEST(before.digest != first.digest);
    directory.write("log", "xx");
    const auto second = inputs();
    BOOST_TEST(spank::unchanged(first, second));
    directory.write("prep.sh", "false");
    BOOST_TEST(!spank::unchanged(second, inputs()));
}

BOOST_AUTO_TEST_SUITE_END()
