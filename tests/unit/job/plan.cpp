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
    spec.toolkit.script = "-m module";
    BOOST_TEST(script_path(spec, environment, {}).empty());
    spec.toolkit.script = "$HOME/train.py";
    BOOST_TEST(script_path(spec, environment, {}).empty());
    spec.toolkit.script = "/app/train.py";
    BOOST_TEST(script_path(spec, environment, {}) == "/app/train.py");
    ImagePolicy image;
    image.run_on = "charliecloud";
    BOOST_TEST(script_path(spec, environment, image).empty());
    spec.toolkit.script = "$AZ_BATCHAI_JOB_MOUNT_ROOT/train.py";
    BOOST_TEST(script_path(spec, environment, image) == "/m/train.py");
    spec.toolkit.script.clear();
    spec.toolkit.config = "/net.cntk";
    BOOST_TEST(script_path(spec, environment, {}) == "/net.cntk");
    spec.toolkit.config.clear();
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
    BOOST_TEST(environment.at("AZ_BATCH_MASTER_NODE") == "n1:6000");
    BOOST_TEST(environment.at("AZ_BATCHAI_STDOUTERR_DIR").rfind("/m/myshare/cifar/slurm", 0) == 0u);
}

BOOST_AUTO_TEST_CASE(slots_of_the_host_file_are_gpus_or_else_tasks) {
    BOOST_TEST(host_file({{"n1", 4, 2}, {"n2", 3, 0}}) == "n1 slots=4\nn2 slots=3\n");
    BOOST_TEST(host_file({{"n1", 0, 2}, {"n2", 0, 0}}) == "n1 slots=2\nn2 slots=1\n");
}

BOOST_AUTO_TEST_CASE(plans_one_rank_per_node_unless_told_otherwise) {
    JobSpec spec = tutorial();
    SitePolicy policy = samples::policy();
    const std::vector<int> gpus = {2, 2, 2, 2};
    const auto count = [&](const std::vector<int>& gpus_per_node) {
        return plan_launch(spec, policy, gpus_per_node).at(0).count;
    };
    BOOST_TEST(count(gpus) == 4);
    BOOST_TEST(plan_launch(spec, policy, gpus).at(0).command ==
               "/usr/bin/python3 $AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar/"
               "cifar_cnn_distributed.py --dir=$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar");
    policy.rank_per_gpu = true;
    BOOST_TEST(count(gpus) == 8);
    BOOST_TEST(count({0, 0, 0, 0}) == 4);
    spec.toolkit.process_count = 6;
    BOOST_TEST(count(gpus) == 6);
}

namespace {

const Identity kIdentity = {"slurm", "Group", "ws", "exp", "job", "1-2", ""};
const std::string kSegment = "/slurm/group/workspaces/ws/experiments/exp/jobs/job/1-2";

JobSpec with_directories() {
    return parse_job(samples::tutorial_with("\"jobPreparation\": {", R"(
        "inputDirectories": [{"id": "DATA", "path": "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/data"},
                             {"id": "first", "path": "${AZ_BATCHAI_INPUT_DATA}/1"}],
        "outputDirectories": [
            {"id": "MODEL", "pathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/", "pathSuffix": "/a/b/"},
            {"id": "ALL", "pathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare"},
            {"id": "OWN", "pathPrefix": "/anywhere", "pathSuffix": "x", "createNew": false}],
        "environmentVariables": [{"name": "LOG", "value": "$AZ_BATCHAI_OUTPUT_MODEL/log"}],
        "jobPreparation": {)"),
                     "job.json")
        .spec.value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(names_input_and_output_directories_as_the_service_did) {
    NodeContext context;
    context.mount_root = "/m";
    Environment environment = job_environment(with_directories(), kIdentity, context);
    BOOST_TEST(environment.at("AZ_BATCHAI_INPUT_DATA") == "/m/myshare/data");
    BOOST_TEST(environment.at("AZ_BATCHAI_INPUT_first") == "/m/myshare/data/1");
    BOOST_TEST(environment.at("AZ_BATCHAI_OUTPUT_MODEL") ==
               "/m/myshare" + kSegment + "/outputs/a/b");
    BOOST_TEST(environment.at("AZ_BATCHAI_OUTPUT_ALL") == "/m/myshare" + kSegment + "/outputs");
    BOOST_TEST(environment.at("AZ_BATCHAI_OUTPUT_OWN") == "/anywhere/x");
    BOOST_TEST(environment.at("LOG") == environment.at("AZ_BATCHAI_OUTPUT_MODEL") + "/log");
    BOOST_TEST(environment.count("AZ_BATCHAI_PREV_OUTPUT_MODEL") == 0u);
    context.is_retry = true;
    environment = job_environment(with_directories(), kIdentity, context);
    BOOST_TEST(environment.at("AZ_BATCHAI_PREV_OUTPUT_MODEL") ==
               environment.at("AZ_BATCHAI_OUTPUT_MODEL"));
}

BOOST_AUTO_TEST_CASE(makes_each_output_directory_that_is_to_be_new) {
    const auto made =
        directories_to_make(with_directories(), kIdentity, {{"AZ_BATCHAI_JOB_MOUNT_ROOT", "/m"}});
    const std::string shared = kSegment.substr(0, kSegment.rfind('/'));
    BOOST_REQUIRE(made.size() == 3u);
    BOOST_TEST(made[0].path == "/m/myshare/cifar" + kSegment + "/stdouterr");
    BOOST_TEST(made[1].path == "/m/myshare" + kSegment + "/outputs/a/b");
    BOOST_TEST(made[2].path == "/m/myshare" + kSegment + "/outputs");
    BOOST_TEST(made[1].shared == "/m/myshare" + shared);
    BOOST_TEST(login_output_directory(with_directories(), samples::policy(), kIdentity,
                                      with_directories().outputs[0])
                   .value() == "/srv/myshare" + kSegment + "/outputs/a/b");
}

BOOST_AUTO_TEST_CASE(
    makes_no_output_directory_outside_of_the_jobs_mounts_unless_the_site_allows_it) {
    const auto refused = [](const std::string& prefix) {
        JobSpec spec = with_directories();
        spec.outputs = {{"A", prefix, "", true, "properties.outputDirectories[0]"}};
        return !refused_outputs(spec, samples::policy()).empty();
    };
    for (const char* good :
         {"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare", "${AZ_BATCHAI_MOUNT_ROOT}/myshare/x",
          "$AZ_BATCHAI_JOB_TEMP", "$AZ_BATCHAI_SHARED_JOB_TEMP/x", "/scratch/me"})
        BOOST_TEST(!refused(good), good);
    for (const char* bad :
         {"$AZ_BATCHAI_JOB_MOUNT_ROOT", "$AZ_BATCHAI_MOUNT_ROOT/external",
          "$AZ_BATCHAI_JOB_MOUNT_ROOT/mysharex", "/home/me", "/scratches", "/sw/x"})
        BOOST_TEST(refused(bad), bad);
}

BOOST_AUTO_TEST_CASE(a_cluster_volume_of_the_site_is_in_every_job_but_not_over_the_jobs_own) {
    SitePolicy policy = samples::policy();
    VolumePolicy external;
    external.kind = Volume::Kind::cluster;
    external.name = "external";
    external.login_path = "/srv/external";
    external.file_system.source = "/srv/external";
    policy.volumes.push_back(external);
    external.name = "myshare/inner";
    policy.volumes.push_back(external);
    JobSpec spec = tutorial();
    const auto mounts = plan_mounts(spec, policy);
    BOOST_REQUIRE(mounts);
    BOOST_REQUIRE(mounts->size() == 2u);
    BOOST_TEST((*mounts)[1].target == "external");
    BOOST_TEST((*mounts)[1].source == "/srv/external");
    BOOST_TEST(login_path(spec, policy, "$AZ_BATCHAI_MOUNT_ROOT/external/a").value() ==
               "/srv/external/a");
    spec.outputs = {{"A", "$AZ_BATCHAI_MOUNT_ROOT/external", "", true, ""}};
    BOOST_TEST(refused_outputs(spec, policy).empty());
    policy.volumes[policy.volumes.size() - 2].file_system.read_only = true;
    BOOST_REQUIRE(refused_outputs(spec, policy).size() == 1u);
    BOOST_TEST(refused_outputs(spec, policy)[0].message.find("read-only") != std::string::npos);
}
