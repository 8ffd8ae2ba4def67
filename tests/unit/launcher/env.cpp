// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/root/starter.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(environment)

namespace {

env::RankNumbers numbers() {
    env::RankNumbers numbers;
    numbers.rank = 5;
    numbers.size = 7;
    numbers.local_rank = 1;
    numbers.local_size = 2;
    numbers.node = 2;
    numbers.nodes = 4;
    numbers.node_name = "n3";
    numbers.ranks_per_node = "2(x3),1";
    numbers.master_address = "10.0.0.1";
    numbers.master_port = 20000;
    numbers.cores = 4;
    return numbers;
}

}  // namespace

BOOST_AUTO_TEST_CASE(other_launchers_leave_nothing_but_the_users_settings_stay) {
    env::Environment environment{{"PMIX_RANK", "0"},
                                 {"PMI_FD", "7"},
                                 {"OMPI_COMM_WORLD_RANK", "1"},
                                 {"OMPI_MCA_orte_x", "1"},
                                 {"SLURM_PMIXP_ABORT", "1"},
                                 {"OMPI_MCA_btl", "tcp"},
                                 {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                 {"PMIX_MCA_ptl", "usock"},
                                 {"HOME", "/root"}};
    env::scrub(environment);
    BOOST_TEST(environment.size() == 3U);
    BOOST_TEST(environment.contains("OMPI_ALLOW_RUN_AS_ROOT"));
    BOOST_TEST(environment.contains("OMPI_MCA_btl"));
    BOOST_TEST(environment.contains("HOME"));
}

BOOST_AUTO_TEST_CASE(pmix_components_are_the_servers_choice_and_others_are_named) {
    env::Environment environment{{"PMIX_MCA_psec", "munge"},
                                 {"PMIX_MCA_gds", "hash"},
                                 {"PMIX_MCA_bfrops", "v4"},
                                 {"PMIX_MCA_pif_base_verbose", "5"}};
    BOOST_TEST(env::unheeded(environment) == std::vector<std::string>{"PMIX_MCA_psec=munge"},
               boost::test_tools::per_element());
    env::leave_to_server(environment);
    BOOST_TEST(environment.size() == 2U);
    BOOST_TEST(env::unheeded(environment).empty());
    BOOST_TEST(env::blame_settings(environment)
                   .ends_with(": unset PMIX_MCA_bfrops PMIX_MCA_pif_base_verbose"));
    BOOST_TEST(env::blame_settings({{"HOME", "/root"}}).empty());
}

namespace {

// As a rank has it that outnumbers its cores, of a user with these settings.
env::Environment of_crowded_rank(const env::Environment& users) {
    env::Environment environment = users;
    env::RankNumbers crowded = numbers();
    crowded.oversubscribed = true;
    crowded.shm_directory = "/dev/shm/outer dir";
    crowded.visible_gpus = "3";
    env::add_torch(environment, crowded);
    env::add_tensorflow(environment, crowded, {"10.0.0.1:9001"});
    env::add_openmpi(environment, crowded);
    env::add_intel_mpi(environment, crowded);
    env::add_mpich(environment, crowded);
    env::add_devices(environment, crowded);
    env::note_new_as_ours(environment, users);
    return environment;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_variable_of_an_outer_launch_is_not_taken_for_the_users) {
    env::Environment environment = of_crowded_rank({{"HOME", "/root"}});
    for (const char* name : {"I_MPI_WAIT_MODE", "OMPI_MCA_mpi_oversubscribe", "OMP_NUM_THREADS",
                             "TF_CONFIG", "MPIR_CVAR_PMI_VERSION"}) {
        BOOST_TEST(environment.contains(name), name);
    }
    env::scrub(environment);
    // The GPUs of a rank are all that a launch inside it may use.
    const env::Environment expected{{"HOME", "/root"}, {"CUDA_VISIBLE_DEVICES", "3"}};
    BOOST_TEST(environment == expected);
}

BOOST_AUTO_TEST_CASE(
    what_the_user_has_set_outside_of_a_rank_or_in_it_is_not_taken_for_the_launchs) {
    const env::Environment users{
        {"I_MPI_WAIT_MODE", "0"}, {"MPIR_CVAR_PMI_VERSION", "pmix"}, {"TF_CONFIG", "{}"}};
    env::Environment environment = of_crowded_rank(users);
    environment["OMP_NUM_THREADS"] = "2";  // as the rank's script does it
    env::scrub(environment);
    for (const auto& [name, value] : users) BOOST_TEST(environment.at(name) == value, name);
    BOOST_TEST(environment.at("OMP_NUM_THREADS") == "2");
    BOOST_TEST(!environment.contains("OMPI_MCA_mpi_oversubscribe"));
}

BOOST_AUTO_TEST_CASE(a_script_in_a_rank_is_not_left_with_what_the_launch_has_set) {
    env::Environment environment = of_crowded_rank({{"MPIR_CVAR_PMI_VERSION", "2"}});
    env::make_script(environment, {});
    BOOST_TEST(environment.at("MPIR_CVAR_PMI_VERSION") == "2");
    BOOST_TEST(!environment.contains("I_MPI_WAIT_MODE"));
}

BOOST_AUTO_TEST_CASE(a_note_that_is_not_ours_does_no_harm) {
    for (const char* text : {"", "x", "[1]", "{\"HOME\": 1}", "{\"HOME\""}) {
        env::Environment environment{{"HOME", "/root"}, {env::kOfLaunch, text}};
        env::scrub(environment);
        BOOST_TEST((environment == env::Environment{{"HOME", "/root"}}), text);
    }
}

BOOST_AUTO_TEST_CASE(the_state_of_a_launch_around_us_is_not_ours_but_a_directory_of_the_user_is) {
    env::Environment outer{{env::kRestartDirectory, "/outer"}};
    env::note_as_ours(outer, env::kRestartDirectory);
    env::Environment environment = outer;
    env::scrub(environment);
    BOOST_TEST(environment.empty());
    environment = outer;
    environment[env::kRestartDirectory] = "/users";
    env::scrub(environment);
    BOOST_TEST(environment.size() == 1U);
    BOOST_TEST(environment.at(env::kRestartDirectory) == "/users");
}

BOOST_AUTO_TEST_CASE(every_family_finds_its_rank) {
    env::Environment environment{{"SLURM_JOB_ID", "1"}, {"SLURM_PROCID", "2"}};
    env::add_slurm(environment, numbers());
    env::add_torch(environment, numbers());
    env::add_horovod(environment, numbers());
    env::add_openmpi(environment, numbers());
    env::add_mpich(environment, numbers());
    for (const char* name :
         {"RANK", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        BOOST_TEST(environment.at(name) == "5");
    }
    for (const char* name :
         {"WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}) {
        BOOST_TEST(environment.at(name) == "7");
    }
    for (const char* name :
         {"LOCAL_RANK", "HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
        BOOST_TEST(environment.at(name) == "1");
    }
    BOOST_TEST(environment.at("MASTER_ADDR") == "10.0.0.1");
    BOOST_TEST(environment.at("OMP_NUM_THREADS") == "4");
    BOOST_TEST(environment.at("OMPI_MCA_schizo") == "ompi");
    BOOST_TEST(environment.at("MPIR_CVAR_PMI_VERSION") == "1");
}

BOOST_AUTO_TEST_CASE(the_user_may_say_which_protocol_mpich_uses) {
    env::Environment environment{{"MPIR_CVAR_PMI_VERSION", "x"}};
    env::scrub(environment);
    env::add_mpich(environment, numbers());
    BOOST_TEST(environment.at("MPIR_CVAR_PMI_VERSION") == "x");
}

BOOST_AUTO_TEST_CASE(a_place_is_what_the_map_says) {
    const auto map = make_map({{"a", 3, 8, 0}, {"b", 1, 8, 0}, {"c", 2, 8, 0}},
                              {.order = Order::cyclic});  // 0 3 5, 1, 2 4
    const env::RankNumbers numbers = env::numbers_in(*map, 4);
    env::Environment environment{{"SLURM_JOB_ID", "1"}, {"SLURM_NNODES", "3"}};
    env::add_slurm(environment, numbers);
    env::add_torch(environment, numbers);
    env::add_horovod(environment, numbers);
    const env::Environment expected = {
        {"RANK", "4"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", "2"},
        {"GROUP_WORLD_SIZE", "3"},
        {"NODE_RANK", "2"},
        {"HOROVOD_CROSS_RANK", "1"},  // after rank 3: node b has no local rank 1
        {"HOROVOD_CROSS_SIZE", "2"},
        {"HOROVOD_HOSTNAME", "c"},
        {"SLURM_NODEID", "2"},
        {"SLURM_GTIDS", "2,4"},
        {"SLURM_TASKS_PER_NODE", "3,1,2"},
        {"SLURM_DISTRIBUTION", "cyclic"},
        {"SLURM_NNODES", "3"},
    };
    for (const auto& [name, value] : expected) BOOST_TEST(environment[name] == value, name);
}

BOOST_AUTO_TEST_CASE(nodes_without_ranks_are_no_nodes_of_the_step) {
    const auto map = make_map({{"a", 0, 8, 0}, {"b", 0, 8, 0}, {"c", 0, 8, 0}}, {.ranks = 2});
    env::Environment environment{{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NUM_NODES", "3"}};
    env::add_slurm(environment, env::numbers_in(*map, 1));
    BOOST_TEST(environment["SLURM_NNODES"] == "2");
    BOOST_TEST(environment["SLURM_STEP_NODELIST"] == "a,b");
    BOOST_TEST(environment["SLURM_TASKS_PER_NODE"] == "1(x2)");
    BOOST_TEST(environment["SLURM_JOB_NUM_NODES"] == "3");
}

BOOST_AUTO_TEST_CASE(a_rank_on_its_own_does_not_hide_the_nodes_of_the_job) {
    const auto map = make_map({{"a", 0, 8, 0}, {"b", 0, 8, 0}}, {.ranks = 1});
    env::Environment environment{{"SLURM_JOB_ID", "1"},
                                 {"SLURM_NNODES", "2"},
                                 {"SLURM_NODELIST", "[a-b]"},
                                 {"SLURM_TASKS_PER_NODE", "4(x2)"}};
    env::add_slurm(environment, env::numbers_in(*map, 0));
    BOOST_TEST(environment["SLURM_NNODES"] == "2");
    BOOST_TEST(environment["SLURM_NODELIST"] == "[a-b]");
    BOOST_TEST(environment["SLURM_TASKS_PER_NODE"] == "4(x2)");
    BOOST_TEST(environment["SLURM_STEP_NODELIST"] == "a");
    BOOST_TEST(environment["SLURM_NTASKS"] == "1");
}

BOOST_AUTO_TEST_CASE(a_batch_script_has_all_of_slurms_variables_of_the_job_already) {
    const env::Environment batch{{"SLURM_JOB_ID", "1"},
                                 {"SLURM_NTASKS", "4"},
                                 {"SRUN_CPUS_PER_TASK", "2"},
                                 {"SLURM_PROCID", "0"}};
    env::Environment with = batch;
    with["HOME"] = "/root";
    BOOST_TEST(env::slurm_of_job(with) == batch);
}

BOOST_AUTO_TEST_CASE(in_a_step_slurms_variables_of_the_job_are_not_those_of_the_step) {
    const env::Environment job = env::slurm_of_job({{"SLURM_JOB_ID", "1"},
                                                    {"SLURM_JOB_NUM_NODES", "2"},
                                                    {"SLURM_JOB_NODELIST", "n[1-2]"},
                                                    {"SLURM_JOB_CPUS_PER_NODE", "4(x2)"},
                                                    {"SLURM_SPANK_BATCHAI_JOB", "x"},
                                                    {"SLURM_STEP_ID", "3"},
                                                    {"SLURM_NNODES", "1"},
                                                    {"SLURM_NODELIST", "n1"},
                                                    {"SLURM_TASKS_PER_NODE", "1"},
                                                    {"SLURM_NTASKS", "1"},
                                                    {"SRUN_DEBUG", "2"}});
    const env::Environment expected{{"SLURM_JOB_ID", "1"},
                                    {"SLURM_JOBID", "1"},
                                    {"SLURM_JOB_NUM_NODES", "2"},
                                    {"SLURM_JOB_NODELIST", "n[1-2]"},
                                    {"SLURM_JOB_CPUS_PER_NODE", "4(x2)"},
                                    {"SLURM_SPANK_BATCHAI_JOB", "x"},
                                    {"SLURM_NNODES", "2"},
                                    {"SLURM_NODELIST", "n[1-2]"},
                                    {"SLURM_TASKS_PER_NODE", "4(x2)"}};
    BOOST_TEST(job == expected);
}

BOOST_AUTO_TEST_CASE(nothing_tells_a_script_that_it_is_a_rank_and_the_users_settings_stay) {
    env::Environment environment{{"SLURM_NNODES", "1"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SRUN_DEBUG", "2"},
                                 {"PMIX_RANK", "0"},
                                 {"PMI_FD", "7"},
                                 {"OMPI_COMM_WORLD_RANK", "0"},
                                 {"OMPI_UNIVERSE_SIZE", "1"},
                                 {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                 {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                 {"PMIX_MCA_gds", "hash"},
                                 {"PRTE_MCA_rmaps_default_mapping_policy", "slot"},
                                 {"HYDRA_BOOTSTRAP", "slurm"}};
    env::make_script(environment, {{"SLURM_NNODES", "2"}});
    const env::Environment expected{{"SLURM_NNODES", "2"},
                                    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                    {"PMIX_MCA_gds", "hash"},
                                    {"PRTE_MCA_rmaps_default_mapping_policy", "slot"},
                                    {"HYDRA_BOOTSTRAP", "slurm"}};
    BOOST_TEST(environment == expected);
}

BOOST_AUTO_TEST_CASE(tensorflow_finds_all_workers_and_its_own_number) {
    env::Environment environment;
    env::add_tensorflow(environment, numbers(), {});
    BOOST_TEST(environment.empty());
    env::add_tensorflow(environment, numbers(), {"10.0.0.1:9001", "10.0.0.2:9002"});
    BOOST_TEST(environment.at("TF_CONFIG") ==
               R"({"cluster":{"worker":["10.0.0.1:9001","10.0.0.2:9002"]},)"
               R"("task":{"type":"worker","index":5}})");
    env::add_tensorflow(environment, env::RankNumbers(), {"10.0.0.3:9001"});
    BOOST_TEST(environment.at("TF_CONFIG").find("10.0.0.3") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(open_mpi_leaves_out_addresses_that_several_nodes_have) {
    env::RankNumbers with = numbers();
    with.interface = "eth0";
    with.ambiguous = {"docker0", "virbr0"};
    env::Environment environment;
    env::add_network(environment, with);
    BOOST_TEST(environment.at("OMPI_MCA_btl_tcp_if_exclude") == "127.0.0.1/8,sppp,docker0,virbr0");
    env::Environment chosen{{"OMPI_MCA_btl_tcp_if_include", "eth1"}};
    env::add_network(chosen, with);
    BOOST_TEST(!chosen.contains("OMPI_MCA_btl_tcp_if_exclude"));
}

BOOST_AUTO_TEST_CASE(the_interface_is_named_to_all_unless_the_user_has_done_so) {
    env::RankNumbers with = numbers();
    env::Environment environment{{"GLOO_SOCKET_IFNAME", "ib0"}};
    env::add_network(environment, with);
    BOOST_TEST(environment.size() == 1U);
    with.interface = "eth1";
    env::add_network(environment, with);
    BOOST_TEST(environment.at("GLOO_SOCKET_IFNAME") == "ib0");
    BOOST_TEST(environment.at("HOROVOD_GLOO_IFACE") == "eth1");
    BOOST_TEST(environment.at("NCCL_SOCKET_IFNAME") == "=eth1");
    BOOST_TEST(!environment.contains("OMPI_MCA_btl_tcp_if_include"));
    with.interface_asked = true;
    env::add_network(environment, with);
    BOOST_TEST(environment.at("OMPI_MCA_btl_tcp_if_include") == "eth1");
}

BOOST_AUTO_TEST_CASE(more_ranks_than_cores_set_the_variables_of_each_mpi) {
    env::Environment environment;
    env::add_openmpi(environment, numbers());
    env::add_intel_mpi(environment, numbers());
    BOOST_TEST(!environment.contains("OMPI_MCA_mpi_oversubscribe"));
    BOOST_TEST(!environment.contains("I_MPI_WAIT_MODE"));
    env::RankNumbers crowded = numbers();
    crowded.oversubscribed = true;
    env::add_openmpi(environment, crowded);
    env::add_intel_mpi(environment, crowded);
    BOOST_TEST(environment.at("OMPI_MCA_mpi_oversubscribe") == "1");
    BOOST_TEST(environment.at("I_MPI_WAIT_MODE") == "1");
    BOOST_TEST(!env::has_own_yield(environment));
}

BOOST_AUTO_TEST_CASE(the_user_may_have_ranks_that_outnumber_the_cores_wait_as_they_like) {
    env::RankNumbers crowded = numbers();
    crowded.oversubscribed = true;
    env::Environment yields{{"I_MPI_THREAD_YIELD", "3"}, {"OMPI_MCA_mpi_yield_when_idle", "0"}};
    env::add_intel_mpi(yields, crowded);
    BOOST_TEST(!yields.contains("I_MPI_WAIT_MODE"));
    BOOST_TEST(env::has_own_yield(yields));
    env::Environment waits{{"I_MPI_WAIT_MODE", "0"}, {"OMPI_MCA_mpi_oversubscribe", "0"}};
    env::add_intel_mpi(waits, crowded);
    env::add_openmpi(waits, crowded);
    BOOST_TEST(waits.at("I_MPI_WAIT_MODE") == "0");
    BOOST_TEST(waits.at("OMPI_MCA_mpi_oversubscribe") == "0");
}

BOOST_AUTO_TEST_CASE(a_rank_hears_of_its_network_devices_and_gpus) {
    env::Environment environment{{"CUDA_VISIBLE_DEVICES", "4,5"}};
    env::add_devices(environment, numbers());
    BOOST_TEST(environment.size() == 1U);
    env::RankNumbers with = numbers();
    with.networks = "mlx5_1:1";
    with.visible_gpus = "5";
    env::add_devices(environment, with);
    BOOST_TEST(environment.at("UCX_NET_DEVICES") == "mlx5_1:1");
    BOOST_TEST(environment.at("CUDA_VISIBLE_DEVICES") == "5");
    env::Environment users{{"UCX_NET_DEVICES", "eth0"}};
    env::add_devices(users, with);
    BOOST_TEST(users.at("UCX_NET_DEVICES") == "eth0");
}

BOOST_AUTO_TEST_CASE(outside_slurm_no_slurm_variable_appears) {
    env::Environment environment;
    env::add_slurm(environment, numbers());
    BOOST_TEST(environment.empty());
}

BOOST_AUTO_TEST_CASE(the_users_own_values_win_where_they_are_a_matter_of_taste) {
    env::Environment environment{{"OMP_NUM_THREADS", "1"}, {"PYTHONPATH", "/mine"}};
    env::add_torch(environment, numbers());
    env::add_batchai(environment, numbers(), "/ours", "/lib/ours.so");
    BOOST_TEST(environment.at("OMP_NUM_THREADS") == "1");
    BOOST_TEST(environment.at("PYTHONPATH") == "/startup:/ours:/mine");
    BOOST_TEST(environment.at("BATCHAI_COLLECTIVES_LIBRARY") == "/lib/ours.so");
}

BOOST_AUTO_TEST_CASE(our_horovod_is_not_put_before_the_systems_on_request) {
    env::Environment environment{{"PYTHONPATH", "/mine"}, {env::kHorovod, "system"}};
    env::add_batchai(environment, numbers(), "/lib/ours", "/lib/ours.so");
    BOOST_TEST(environment.at("PYTHONPATH") == "/lib/startup:/mine");
    env::Environment plain;
    env::add_batchai(plain, numbers(), "/ours", "/lib/ours.so");
    BOOST_TEST(plain.at(env::kHorovod) == "auto");
}

BOOST_AUTO_TEST_CASE(options_of_the_users_own_steps_do_not_reach_our_srun) {
    const auto kept = srun_environment({{"SLURM_CPUS_PER_TASK", "4"},
                                        {"SLURM_NTASKS_PER_NODE", "2"},
                                        {"SRUN_CPUS_PER_TASK", "4"},
                                        {"SLURM_JOB_ID", "7"},
                                        {"SLURM_CONF", "/etc/slurm.conf"},
                                        {"SLURM_SPANK_BATCHAI_JOB", "x"},
                                        {"PATH", "/bin"}});
    BOOST_TEST(!kept.contains("SLURM_CPUS_PER_TASK"));
    BOOST_TEST(!kept.contains("SLURM_NTASKS_PER_NODE"));
    BOOST_TEST(!kept.contains("SRUN_CPUS_PER_TASK"));
    for (const char* name : {"SLURM_JOB_ID", "SLURM_CONF", "SLURM_SPANK_BATCHAI_JOB", "PATH"}) {
        BOOST_TEST(kept.contains(name));
    }
}

BOOST_AUTO_TEST_CASE(ranks_get_what_srun_would_pass_on) {
    const env::Environment slurm =
        env::slurm_of_caller({{"HOME", "/root"},
                              {"SLURM_CPUS_PER_TASK", "2"},
                              {"SRUN_CPUS_PER_TASK", "2"},
                              {"SLURM_CPU_BIND", "none"},
                              {"SLURM_PMIX_MAPPING_SERV", "x"},
                              {"SLURM_NTASKS", "3"},
                              {"SLURM_STEP_NUM_TASKS", "9"},
                              {"BATCHAI_OF_LAUNCH", R"({"SLURM_STEP_NUM_TASKS":"9"})"}});
    const env::Environment expected{
        {"SLURM_CPUS_PER_TASK", "2"}, {"SRUN_CPUS_PER_TASK", "2"}, {"SLURM_NTASKS", "3"}};
    BOOST_TEST((slurm == expected));
}

BOOST_AUTO_TEST_SUITE_END()
