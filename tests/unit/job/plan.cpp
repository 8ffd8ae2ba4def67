// SPDX-License-Identifier: Apache-2.0
#include "job/plan.hpp"

#include "job/layout.hpp"
#include "samples.hpp"

using namespace batchai::job;

namespace {
JobSpec tutorial() {
    return parse_job(samples::tutorial(), "job.json").spec.value();
}
}  // namespace

BOOST_AUTO_TEST_CASE(expands_only_the_services_variables) {
    const Environment environment = {{"AZ_BATCHAI_JOB_TEMP", "/t"}, {"HOME", "/h"}};
    BOOST_TEST(expand("$AZ_BATCHAI_JOB_TEMP/x ${AZ_BATCHAI_JOB_TEMP}y", environment) == "/t/x /ty");
    BOOST_TEST(expand("$HOME $oauthtoken $ ${", environment) == "$HOME $oauthtoken $ ${");
    BOOST_TEST(expand("a$AZ_BATCHAI_INPUT_DATASET", environment) == "a");
    BOOST_TEST(expand("${AZ_BATCHAI_JOB_TEMP", environment) == "${AZ_BATCHAI_JOB_TEMP");
}

BOOST_AUTO_TEST_CASE(lays_outputs_out_as_the_service_did) {
    Identity identity;
    identity.resource_group = "MyGroup";
    identity.name = "cifar";
    identity.uuid = "1-2";
    const std::string segment =
        "slurm/mygroup/workspaces/default/experiments/default/jobs/cifar/1-2";
    BOOST_TEST(output_segment(identity) == segment);
    const Environment environment = {{"AZ_BATCHAI_JOB_MOUNT_ROOT", "/m"}};
    BOOST_TEST(stdouterr_directory(tutorial(), identity, environment) ==
               "/m/myshare/cifar/" + segment + "/stdouterr");
    BOOST_TEST(login_stdouterr_directory(tutorial(), samples::policy(), identity).value() ==
               "/srv/myshare/cifar/" + segment + "/stdouterr");
    BOOST_TEST(execution_log_name("n1") == "execution-n1.log");
    BOOST_TEST(preparation_stdout_name("") == "stdout-job_prep.txt");
}

BOOST_AUTO_TEST_CASE(finds_the_login_path_of_a_share_only) {
    const auto path = [](const std::string& text) {
        return login_path(tutorial(), samples::policy(), text).value_or("none");
    };
    BOOST_TEST(path("$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/a/b.py") == "/srv/myshare/a/b.py");
    BOOST_TEST(path("${AZ_BATCHAI_JOB_MOUNT_ROOT}/myshare") == "/srv/myshare");
    BOOST_TEST(path("$AZ_BATCHAI_MOUNT_ROOT//myshare/./a//b/") == "/srv/myshare/a/b");
    BOOST_TEST(path("$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/$AZ_BATCHAI_TASK_INDEX") == "none");
    BOOST_TEST(path("$AZ_BATCHAI_JOB_MOUNT_ROOT") == "none");
    BOOST_TEST(path("$AZ_BATCHAI_JOB_MOUNT_ROOT/myshares/a") == "none");
    BOOST_TEST(path("$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/../x") == "none");
    BOOST_TEST(path("/etc/passwd") == "none");
}

BOOST_AUTO_TEST_CASE(knows_where_a_plain_script_is) {
    JobSpec spec = tutorial();
    const Environment environment = {{"AZ_BATCHAI_JOB_MOUNT_ROOT", "/m"}};
    BOOST_TEST(script_path(spec, environment, {}) == "/m/myshare/cifar/cifar_cnn_distributed.py");
    std::get<HorovodSettings>(spec.toolkit).script = "-m module";
    BOOST_TEST(script_path(spec, environment, {}).empty());
    std::get<HorovodSettings>(spec.toolkit).script = "$HOME/train.py";
    BOOST_TEST(script_path(spec, environment, {}).empty());
    std::get<HorovodSettings>(spec.toolkit).script = "/app/train.py";
    BOOST_TEST(script_path(spec, environment, {}) == "/app/train.py");
    ImagePolicy image;
    image.run_on = "charliecloud";
    BOOST_TEST(script_path(spec, environment, image).empty());
    std::get<HorovodSettings>(spec.toolkit).script = "$AZ_BATCHAI_JOB_MOUNT_ROOT/train.py";
    BOOST_TEST(script_path(spec, environment, image) == "/m/train.py");
    spec.toolkit = CustomToolkitSettings{"x"};
    BOOST_TEST(script_path(spec, environment, {}).empty());
}

BOOST_AUTO_TEST_CASE(sets_the_services_variables_and_the_jobs_own) {
    JobSpec spec = tutorial();
    spec.environment = {{"TIMELINE", "$AZ_BATCHAI_JOB_TEMP/t.json"}};
    spec.secrets = {{"TOKEN", "hush"}};
    NodeContext context;
    context.mount_root = "/m";
    context.job_temp = "/tmp/batchai-1";
    context.gpus = 2;
    context.hosts = {"n1", "n2"};
    const Environment environment = job_environment(spec, Identity{}, context);
    BOOST_TEST(environment.at("TIMELINE") == "/tmp/batchai-1/t.json");
    BOOST_TEST(environment.at("TOKEN") == "hush");
    BOOST_TEST(environment.at("AZ_BATCHAI_NUM_GPUS") == "2");
    BOOST_TEST(environment.at("AZ_BATCH_HOST_LIST") == "n1,n2");
    BOOST_TEST(environment.at("AZ_BATCHAI_STDOUTERR_DIR").rfind("/m/myshare/cifar/slurm", 0) == 0u);
    BOOST_TEST(host_file({"n1", "n2"}, 2) == "n1 slots=2\nn2 slots=2\n");
}

BOOST_AUTO_TEST_CASE(plans_one_rank_per_node_unless_told_otherwise) {
    JobSpec spec = tutorial();
    SitePolicy policy = samples::policy();
    const std::vector<int> gpus = {2, 2, 2, 2};
    BOOST_TEST(plan_launch(spec, policy, gpus).ranks == 4);
    BOOST_TEST(plan_launch(spec, policy, gpus).command ==
               "/usr/bin/python3 $AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar/"
               "cifar_cnn_distributed.py --dir=$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar");
    policy.rank_per_gpu = true;
    BOOST_TEST(plan_launch(spec, policy, gpus).ranks == 8);
    BOOST_TEST(plan_launch(spec, policy, {0, 0, 0, 0}).ranks == 4);
    std::get<HorovodSettings>(spec.toolkit).process_count = 6;
    BOOST_TEST(plan_launch(spec, policy, gpus).ranks == 6);
    spec.toolkit = CustomToolkitSettings{"mpirun x"};
    BOOST_TEST(plan_launch(spec, policy, gpus).ranks == 1);
    BOOST_TEST((plan_launch(spec, policy, gpus).placement == Placement::first_node_only));
}
