// SPDX-License-Identifier: Apache-2.0
#include "spank/plugin.hpp"

#include <boost/test/unit_test.hpp>

#include "fake_slurm.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;

namespace {

struct Login {
    Login() {
        test::fake_slurm() = {};
        spank::register_options(nullptr);
        for (const spank::OptionRow& option : spank::kOptions) unsetenv(option.variable);
        unsetenv("SLURM_JOB_ID");
        spank::forget_submission(false);
    }
    ~Login() {
        for (int i = 0; i < spank::kOptionCount; ++i) give(i, nullptr);
    }

    void give(int option, const char* value) const {
        const auto& entry = test::fake_slurm().options[option];
        entry.cb(entry.val, value, 0);
    }

    // A batchai-check of the test's.
    void answer(const std::string& script) const {
        directory.write("batchai-check", "#!/bin/sh\n" + script + "\n", 0755);
    }

    bool check(bool allocator) const {
        const spank::Site site = {"/policy.toml", directory.path().c_str(), ""};
        return spank::check_submission(nullptr, site, allocator);
    }

    std::string said() const {
        std::string all;
        for (const auto& line : test::fake_slurm().lines) all += line + "\n";
        return all;
    }

    test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(local, Login)

BOOST_AUTO_TEST_CASE(without_options_nothing_is_run) {
    answer("touch " + directory / "ran");
    BOOST_TEST(check(true));
    BOOST_TEST(!std::filesystem::exists(directory / "ran"));
    BOOST_TEST(test::fake_slurm().job_variables.empty());
}

BOOST_AUTO_TEST_CASE(sbatch_hands_the_snapshot_to_the_job) {
    answer("echo \"$@\" >" + directory / "arguments" +
           "; echo /snapshot; echo /out; echo a comment");
    give(spank::kJob, "job.json");
    give(spank::kPrep, "echo 'x'");
    BOOST_TEST(check(true));
    BOOST_TEST(directory.read("arguments") == "--policy /policy.toml --job job.json\n");
    auto& variables = test::fake_slurm().job_variables;
    BOOST_TEST(variables["BATCHAI_JOB"] == "/snapshot");
    BOOST_TEST(variables["BATCHAI_OUTPUT"] == "/out");
    BOOST_TEST(variables["BATCHAI_PREP"] == "echo 'x'");
    BOOST_TEST(variables.count("BATCHAI_MOUNT") == 0U);
}

BOOST_AUTO_TEST_CASE(srun_hands_the_snapshot_over_in_its_environment) {
    answer("echo /snapshot; echo; echo a comment");
    give(spank::kJob, "job.json");
    BOOST_TEST(check(false));
    BOOST_TEST(getenv("SLURM_SPANK_BATCHAI_JOB") == std::string("/snapshot"));
    BOOST_TEST(getenv("SLURM_SPANK_BATCHAI_OUTPUT") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_left_to_batchai_check) {
    answer("exit 1");
    give(spank::kJob, "job.json");
    BOOST_TEST(!check(true));
    BOOST_TEST(said().empty());
}

BOOST_AUTO_TEST_CASE(a_checker_that_is_missing_broken_or_killed_is_said) {
    give(spank::kJob, "job.json");
    BOOST_TEST(!check(true));
    BOOST_TEST(said().find("cannot be run") != std::string::npos);
    answer("kill -9 $$");
    BOOST_TEST(!check(true));
    BOOST_TEST(said().find("signal 9") != std::string::npos);
    answer("echo /snapshot");
    BOOST_TEST(!check(true));
    BOOST_TEST(said().find("no answer") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(options_over_64_KiB_are_refused) {
    answer("echo; echo; echo");
    const std::string half(33 * 1024, 'x');
    give(spank::kPrep, half.c_str());
    BOOST_TEST(check(true));
    give(spank::kMount, half.c_str());
    BOOST_TEST(!check(true));
}

// The environment of a task of job 1, which has a job file.
struct Inside : Login {
    static constexpr const char* kNames[] = {"SLURM_JOB_ID",
                                             "SLURM_SPANK_BATCHAI_JOB",
                                             "SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_job",
                                             "AZ_BATCHAI_JOB_TEMP",
                                             "AZ_BATCHAI_MOUNT_ROOT",
                                             "BATCHAI_NODE_READY"};
    Inside() {
        for (const char* name : kNames) setenv(name, "1", 1);
    }
    ~Inside() {
        for (const char* name : kNames) unsetenv(name);
    }
    static bool has(const char* name) { return getenv(name) && *getenv(name); }
    static bool has_left() {
        return !has("SLURM_SPANK_BATCHAI_JOB") && !has("AZ_BATCHAI_JOB_TEMP") &&
               !has("AZ_BATCHAI_MOUNT_ROOT") && !has("BATCHAI_NODE_READY");
    }
};

BOOST_FIXTURE_TEST_CASE(srun_in_a_job_that_is_set_up_checks_nothing, Inside) {
    answer("exit 1");
    spank::forget_submission(false);
    BOOST_TEST(check(false));
    give(spank::kMount, "/x:y");
    BOOST_TEST(!check(false));
    BOOST_TEST(said() ==
               "batchai: --batchai-mount: the job is set up already: give the option to sbatch or "
               "salloc\n");
}

BOOST_FIXTURE_TEST_CASE(a_new_job_from_inside_another_is_not_that_job, Inside) {
    spank::forget_submission(true);
    BOOST_TEST(has_left());
    BOOST_TEST(!has("SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_job"));
}

BOOST_FIXTURE_TEST_CASE(srun_that_allocates_inside_a_job_is_not_of_that_job, Inside) {
    unsetenv("SLURM_JOB_ID");
    spank::forget_submission(false);
    BOOST_TEST(has_left());
}

BOOST_FIXTURE_TEST_CASE(a_step_of_the_job_keeps_what_it_needs, Inside) {
    spank::forget_submission(false);
    test::fake_slurm().job = 1;
    spank::forget_other_job(nullptr);
    BOOST_TEST(has("SLURM_SPANK_BATCHAI_JOB"));
    BOOST_TEST(has("AZ_BATCHAI_JOB_TEMP"));
    BOOST_TEST(!has("SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_job"));
    test::fake_slurm().job = 2;  // a component
    setenv("SLURM_JOB_ID_HET_GROUP_0", "1", 1);
    setenv("SLURM_JOB_ID_HET_GROUP_1", "2", 1);
    spank::forget_other_job(nullptr);
    BOOST_TEST(has("SLURM_SPANK_BATCHAI_JOB"));
    unsetenv("SLURM_JOB_ID_HET_GROUP_0");
    unsetenv("SLURM_JOB_ID_HET_GROUP_1");
}

BOOST_FIXTURE_TEST_CASE(a_step_of_another_job_gets_nothing_of_this_one, Inside) {
    spank::forget_submission(false);
    test::fake_slurm().job = 2;
    spank::forget_other_job(nullptr);
    BOOST_TEST(has_left());
}

BOOST_FIXTURE_TEST_CASE(variables_that_no_job_has_set_stay, Inside) {
    unsetenv("BATCHAI_NODE_READY");
    spank::forget_submission(true);
    BOOST_TEST(has("AZ_BATCHAI_JOB_TEMP"));
}

BOOST_AUTO_TEST_SUITE_END()
