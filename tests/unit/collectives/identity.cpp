// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/identity.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

using namespace batchai::coll;

namespace {

using Environment = std::map<std::string, std::string>;

Variables variables(const Environment& environment) {
    return [environment](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
}

std::string error_of(const Environment& environment) {
    const auto good = check_identity(variables(environment));
    return good ? "" : good.error().message;
}

std::string remark_of(const Environment& environment) {
    return remark_of_lone_process(variables(environment));
}

// A rank of batchai-launch in a Slurm job, with other variables.
Environment rank_of(int rank, int size, const Environment& more = {}) {
    const std::string own = std::to_string(rank), all = std::to_string(size);
    Environment environment = more;
    environment.insert({{"PMIX_NAMESPACE", "batchai.12.0123456789abcdef"},
                        {"PMIX_RANK", own},
                        {"HOROVOD_RANK", own},
                        {"HOROVOD_SIZE", all},
                        {"RANK", own},
                        {"WORLD_SIZE", all},
                        {"LOCAL_WORLD_SIZE", "1"},
                        {"PMI_RANK", own},
                        {"PMI_SIZE", all},
                        {"OMPI_COMM_WORLD_RANK", own},
                        {"OMPI_COMM_WORLD_SIZE", all},
                        {"SLURM_JOB_ID", "12"},
                        {"SLURM_PROCID", own},
                        {"SLURM_NTASKS", all},
                        {"SLURM_STEP_NUM_TASKS", all}});
    return environment;
}

// Process `rank` of `size` of torchrun, which has started `local` of them on this node.
Environment torchrun(int rank, int size, int local) {
    return {{"TORCHELASTIC_RUN_ID", "none"},
            {"RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(size)},
            {"LOCAL_WORLD_SIZE", std::to_string(local)}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(identity)

BOOST_AUTO_TEST_CASE(a_rank_as_its_launcher_has_made_it_passes) {
    BOOST_TEST(error_of({}) == "");
    BOOST_TEST(error_of(rank_of(0, 1)) == "");
    BOOST_TEST(error_of(rank_of(1, 2)) == "");
    // mpirun's daemons are tasks of srun.
    BOOST_TEST(error_of({{"PMIX_NAMESPACE", "4177002497"},
                         {"PMIX_RANK", "3"},
                         {"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"SLURM_PROCID", "1"},
                         {"SLURM_STEP_NUM_TASKS", "8"}}) == "");
    BOOST_TEST(error_of({{"PMIX_NAMESPACE", "slurm.pmix.12.0"},
                         {"PMIX_RANK", "3"},
                         {"SLURM_PROCID", "3"},
                         {"SLURM_STEP_NUM_TASKS", "4"}}) == "");
}

BOOST_AUTO_TEST_CASE(torchrun_inside_a_rank_is_named_with_both_numbers) {
    BOOST_TEST(error_of(rank_of(0, 2, torchrun(2, 4, 2))) ==
               "torchrun made this process 2 of 4; batchai-launch knows rank 0 of 2: use one of "
               "them");
    // A torchrun of its own in each rank: the sizes are equal by chance.
    BOOST_TEST(error_of(rank_of(1, 2, torchrun(1, 2, 2))) ==
               "torchrun made this process 1 of 2; batchai-launch knows rank 1 of 2: use one of "
               "them");
    BOOST_TEST(error_of(rank_of(0, 1, torchrun(1, 2, 2))) != "");
    // Ranks of several launches, each of which knows one.
    BOOST_TEST(error_of(rank_of(0, 1, torchrun(3, 4, 1))) != "");
    Environment of_slurm = torchrun(2, 4, 2);
    of_slurm.insert({{"PMIX_NAMESPACE", "slurm.pmix.12.0"},
                     {"PMIX_RANK", "1"},
                     {"SLURM_PROCID", "1"},
                     {"SLURM_STEP_NUM_TASKS", "2"}});
    BOOST_TEST(error_of(of_slurm) ==
               "torchrun made this process 2 of 4; srun knows rank 1 of 2: use one of them");
}

BOOST_AUTO_TEST_CASE(torchrun_with_one_process_in_each_rank_passes) {
    BOOST_TEST(error_of(rank_of(3, 4, torchrun(0, 1, 1))) == "");
    BOOST_TEST(error_of(rank_of(3, 4, torchrun(2, 4, 1))) == "");
    BOOST_TEST(error_of(torchrun(0, 1, 1)) == "");
}

BOOST_AUTO_TEST_CASE(torchrun_without_batchai_launch_is_not_rank_0_of_1_in_each_process) {
    BOOST_TEST(error_of(torchrun(2, 4, 4)) ==
               "torchrun made this process 2 of 4; without batchai-launch it is rank 0 of 1: start "
               "the program with batchai-launch alone");
    BOOST_TEST(error_of({{"RANK", "1"}, {"WORLD_SIZE", "2"}}) != "");
}

BOOST_AUTO_TEST_CASE(another_launcher_of_more_processes_than_ranks_is_refused) {
    BOOST_TEST(error_of(rank_of(0, 2, {{"RANK", "1"}, {"WORLD_SIZE", "4"}})) ==
               "another launcher (which set RANK and WORLD_SIZE) made this process 1 of 4; "
               "batchai-launch knows "
               "rank 0 of 2: use one of them");
    BOOST_TEST(error_of(rank_of(1, 2, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}})) ==
               "srun made this process 0 of 2; batchai-launch knows rank 1 of 2: use one of them");
    BOOST_TEST(error_of(rank_of(1, 2, {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}})) ==
               "mpiexec made this process 1 of 4; batchai-launch knows rank 1 of 2: use one of "
               "them");
}

BOOST_AUTO_TEST_CASE(what_a_user_sets_is_no_other_launcher) {
    BOOST_TEST(error_of(rank_of(1, 2, {{"RANK", "0"}})) == "");
    BOOST_TEST(error_of(rank_of(1, 2, {{"RANK", "0"}, {"WORLD_SIZE", "1"}})) == "");
    BOOST_TEST(error_of(rank_of(1, 4, {{"RANK", "0"}, {"WORLD_SIZE", "2"}})) == "");
    BOOST_TEST(error_of(rank_of(1, 2, {{"RANK", "first"}, {"WORLD_SIZE", "4"}})) == "");
    BOOST_TEST(error_of(rank_of(1, 2, {{"RANK", "7"}, {"WORLD_SIZE", "4"}})) == "");
    BOOST_TEST(error_of(rank_of(1, 2, {{"SLURM_NTASKS", "16"}})) == "");
    BOOST_TEST(error_of({{"RANK", "3"}}) == "");
    BOOST_TEST(error_of({{"WORLD_SIZE", "4"}}) == "");
    // A single srun, mpirun or mpiexec inside a rank.
    BOOST_TEST(error_of(rank_of(1, 2, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})) ==
               "");
    BOOST_TEST(error_of(rank_of(1, 2,
                                {{"PMIX_NAMESPACE", "4177002497"},
                                 {"PMIX_RANK", "0"},
                                 {"OMPI_COMM_WORLD_RANK", "0"},
                                 {"OMPI_COMM_WORLD_SIZE", "1"}})) == "");
    // A launch whose user has hidden the Slurm job around it.
    BOOST_TEST(
        error_of(rank_of(
            1, 2, {{"SLURM_JOB_ID", ""}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}})) ==
        "");
    // A rank of batchai-launch that has left the job.
    BOOST_TEST(error_of(rank_of(1, 2, {{"PMIX_NAMESPACE", ""}})) == "");
}

BOOST_AUTO_TEST_CASE(one_of_several_tasks_without_a_launcher_speaks_for_all) {
    const Environment second = {
        {"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}};
    const Environment first = {
        {"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
    BOOST_TEST(remark_of(first).starts_with("srun started 4 processes, and each of them is"));
    BOOST_TEST(remark_of(second) == "");
    BOOST_TEST(remark_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).starts_with("mpiexec started 2 "));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_alone_says_nothing) {
    BOOST_TEST(remark_of({}) == "");
    // A batch script, and a step of one task.
    const Environment job = {{"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
    Environment step = job;
    step["SLURM_STEP_NUM_TASKS"] = "1";
    BOOST_TEST(remark_of(job) == "");
    BOOST_TEST(remark_of(step) == "");
    BOOST_TEST(remark_of(rank_of(0, 2, {{"PMIX_NAMESPACE", ""}})) == "");
}

BOOST_AUTO_TEST_SUITE_END()
