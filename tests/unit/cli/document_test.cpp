// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_document.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {
namespace {

using nlohmann::json;

JobRow row() {
    JobRow row;
    row.identity.resource_group = "batchai.horovod";
    row.identity.workspace = "batchaidev";
    row.identity.experiment = "cifar";
    row.identity.name = "cifar_distributed";
    row.identity.uuid = "u-1";
    row.identity.cluster = "nc6cluster";
    row.number = job::Number::of_job(7);
    row.created = 1528850147.573;
    return row;
}

const json kSnapshot = {
    {"properties",
     {{"nodeCount", 4},
      {"horovodSettings", {{"pythonScriptFilePath", "train.py"}}},
      {"stdOutErrPathPrefix", "$AZ_BATCHAI_JOB_MOUNT_ROOT/s"},
      {"secrets", {{{"name", "TOKEN"}, {"value", "hidden"}}}},
      {"mountVolumes", {{"azureFileShares", {{{"credentials", {{"accountKey", "hidden"}}}}}}}}}}};

JobLine line(const Execution& execution) {
    return {row().identity, row().number, "horovod", 4, execution, ""};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(document)

BOOST_AUTO_TEST_CASE(has_the_services_keys) {
    const json document = job_document(row(), Execution{}, kSnapshot);
    for (const char* key : {"caffe2Settings", "caffeSettings", "chainerSettings", "cntkSettings",
                            "customMpiSettings", "customToolkitSettings", "pyTorchSettings",
                            "tensorFlowSettings", "executionInfo", "inputDirectories"})
        BOOST_TEST((document.contains(key) && document[key].is_null()), key);
    BOOST_TEST(document["horovodSettings"]["processCount"] == 4);
    BOOST_TEST(document["toolType"] == "horovod");
    BOOST_TEST(document["executionState"] == "queued");
    BOOST_TEST(document["nodeCount"] == 4);
    BOOST_TEST(document["creationTime"] == "2018-06-13T00:35:47.573000+00:00");
    BOOST_TEST(document["constraints"]["maxWallClockTime"] == "7 days, 0:00:00");
    BOOST_TEST(document["cluster"]["id"] ==
               "/subscriptions/slurm/resourceGroups/batchai.horovod/providers/Microsoft.BatchAI/"
               "workspaces/batchaidev/clusters/nc6cluster");
    BOOST_TEST(document["slurm"]["jobId"] == 7);
}

BOOST_AUTO_TEST_CASE(has_the_launchs_options_if_batchai_gave_any) {
    BOOST_TEST(job_document(row(), Execution{}, kSnapshot)["launch"].is_null());
    json snapshot = kSnapshot;
    snapshot["batchai"]["launch"] = {{"restarts", 2}, {"requeueOn", "signal"}};
    const json launch = job_document(row(), Execution{}, snapshot)["launch"];
    BOOST_TEST(launch["restarts"] == 2);
    BOOST_TEST(launch["requeueOn"] == "signal");
    BOOST_TEST((launch.contains("grace") && launch["grace"].is_null()));
}

BOOST_AUTO_TEST_CASE(never_gives_a_secret_back) {
    const json document = job_document(row(), Execution{}, kSnapshot);
    BOOST_TEST(document.dump().find("hidden") == std::string::npos);
    BOOST_TEST(document["secrets"][0]["name"] == "TOKEN");
}

BOOST_AUTO_TEST_CASE(tells_a_failure_with_its_node) {
    Execution execution;
    execution.state = Execution::State::failed;
    execution.start_time = 100;
    execution.end_time = 200;
    execution.exit_code = 3;
    execution.errors = {{"JobFailed", "why", "n1"}, {"JobFailed", "everywhere", ""}};
    const json info = job_document(row(), execution, kSnapshot)["executionInfo"];
    BOOST_TEST(info["exitCode"] == 3);
    BOOST_TEST(info["endTime"] == "1970-01-01T00:03:20.000000+00:00");
    BOOST_TEST(info["errors"][0]["message"] == "why");
    BOOST_TEST(info["errors"][0]["details"][0]["value"] == "n1");
    BOOST_TEST(info["errors"][1]["details"].is_null());
}

BOOST_AUTO_TEST_CASE(has_every_key_of_the_services_model_and_no_other) {
    json snapshot = kSnapshot;
    snapshot["properties"]["comment"] = "mine";
    snapshot["properties"]["outputDirectories"] = {{{"id", "MODEL"}, {"pathPrefix", "/o"}}};
    snapshot["properties"]["constraints"] = {{"maxWallClockTime", "PT30M"}};
    const json document = job_document(row(), Execution{}, snapshot);
    BOOST_TEST(!document.contains("comment"));
    BOOST_TEST(document["outputDirectories"][0] ==
               json({{"id", "MODEL"}, {"pathPrefix", "/o"}, {"pathSuffix", nullptr}}));
    BOOST_TEST(document["constraints"]["maxWallClockTime"] == "0:30:00");
    BOOST_TEST(document["horovodSettings"] == json({{"commandLineArgs", nullptr},
                                                    {"processCount", 4},
                                                    {"pythonInterpreterPath", nullptr},
                                                    {"pythonScriptFilePath", "train.py"}}));
    const json& volumes = document["mountVolumes"];
    BOOST_TEST(volumes.size() == 4);
    BOOST_TEST(volumes["fileServers"].is_null());
    BOOST_TEST(volumes["azureFileShares"][0]["fileMode"] == "0777");
    BOOST_TEST(volumes["azureFileShares"][0]["accountName"].is_null());
    BOOST_TEST(document["secrets"][0] ==
               json({{"name", "TOKEN"}, {"value", nullptr}, {"valueSecretReference", nullptr}}));
}

BOOST_AUTO_TEST_CASE(batchais_own_facts_are_under_one_key) {
    Execution execution;
    execution.slurm = slurm::Job{"PENDING", "mini", 100, {}, 0, "Resources"};
    const json slurm = job_document(row(), execution, kSnapshot)["slurm"];
    BOOST_TEST(slurm["state"] == "PENDING");
    BOOST_TEST(slurm["reason"] == "Resources");
    BOOST_TEST(slurm["partition"] == "mini");
    BOOST_TEST(slurm["startTime"] == "1970-01-01T00:01:40.000000+00:00");
    BOOST_TEST(slurm["endTime"].is_null());
}

BOOST_AUTO_TEST_CASE(a_job_without_a_snapshot_is_described_by_its_row) {
    const json document = job_document(row(), Execution{}, json());
    BOOST_TEST(document["name"] == "cifar_distributed");
    BOOST_TEST(document["toolType"].is_null());
}

BOOST_AUTO_TEST_CASE(a_table_of_jobs_has_azs_columns) {
    Execution execution;
    execution.state = Execution::State::failed;
    execution.exit_code = 127;
    execution.start_time = 100;
    BOOST_TEST(
        job_table({line(execution)}).text() ==
        "Name               Cluster     Cluster RG       Cluster Workspace    Tool       "
        "Nodes  State      Exit code  Experiment      Slurm ID  Started                    Ended\n"
        "-----------------  ----------  ---------------  -------------------  -------  "
        "-------  -------  -----------  ------------  ----------  -------------------------  "
        "-------\n"
        "cifar_distributed  nc6cluster  batchai.horovod  batchaidev           horovod        "
        "4  failed           127  cifar                  7  1970-01-01T00:01:40+00:00\n");
}

BOOST_AUTO_TEST_CASE(a_task_of_an_array_is_named_with_its_index) {
    JobRow task = row();
    task.number = job::Number::of_task(26, 3, 28);
    const auto document = job_document(task, {}, nullptr);
    BOOST_TEST(document["name"] == "cifar_distributed/3");
    BOOST_TEST(document["id"].get<std::string>().ends_with("/jobs/cifar_distributed/3"));
    BOOST_TEST(document["slurm"]["jobId"] == 28);
    BOOST_TEST(document["slurm"]["arrayJobId"] == 26);
    BOOST_TEST(document["slurm"]["arrayTaskId"] == 3);
    JobLine shown = line({});
    shown.number = job::Number::of_task(26, 3);  // it waits
    const std::string table = job_table({shown}).text();
    BOOST_TEST(table.find("cifar_distributed/3") != std::string::npos);
    BOOST_TEST(table.find("26_3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_narrow_table_does_without_dates_and_reasons_before_it_cuts_a_name) {
    Execution execution;
    execution.start_time = 100;
    execution.waits_for = "Resources";
    JobLine long_line = line(execution);
    long_line.identity.name = "cifar_distributed_with_momentum";
    const std::string text = job_table({long_line}).text(90);
    BOOST_TEST(text.find("cifar_distributed_with_momentum ") != text.npos);
    BOOST_TEST(text.find("1970") == text.npos);
    BOOST_TEST(text.find("Resources") != text.npos);
    BOOST_TEST(job_table({long_line}).text(80).find("Resources") == text.npos);
}

BOOST_AUTO_TEST_CASE(the_table_tells_a_preparation_while_there_is_one) {
    Execution execution;
    execution.state = Execution::State::running;
    const json preparing = {
        {{"node", "n1"}, {"state", "prepared"}, {"seconds", 3}, {"message", nullptr}},
        {{"node", "n2"}, {"state", "preparing"}, {"seconds", 12.3}, {"message", nullptr}}};
    JobLine second = line(execution);
    second.preparing = preparing_text(preparing);
    const Table table = job_table({line(execution), second});
    BOOST_TEST(table.titles.back() == "Preparation");
    BOOST_TEST(table.rows[0].back().empty());
    BOOST_TEST(table.rows[1].back() == "preparing n2 (12 s)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
