// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/job_document.hpp"

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
    row.slurm_id = 7;
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
    BOOST_TEST(document["slurmJobId"] == 7);
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

BOOST_AUTO_TEST_CASE(of_a_job_whose_snapshot_is_gone_still_says_what_is_known) {
    const json document = job_document(row(), Execution{}, json());
    BOOST_TEST(document["name"] == "cifar_distributed");
    BOOST_TEST(document["toolType"].is_null());
}

BOOST_AUTO_TEST_CASE(as_a_table_has_azs_columns) {
    Execution execution;
    execution.state = Execution::State::failed;
    execution.exit_code = 127;
    BOOST_TEST(
        job_table(json::array({job_document(row(), execution, kSnapshot)})).text() ==
        "Name               Cluster     Cluster RG       Cluster Workspace    Tool       "
        "Nodes  State      Exit code\n"
        "-----------------  ----------  ---------------  -------------------  -------  "
        "-------  -------  -----------\n"
        "cifar_distributed  nc6cluster  batchai.horovod  batchaidev           horovod        "
        "4  failed           127\n");
}

BOOST_AUTO_TEST_CASE(the_table_tells_a_preparation_while_there_is_one) {
    Execution execution;
    execution.state = Execution::State::running;
    const json preparing = {
        {{"node", "n1"}, {"state", "prepared"}, {"seconds", 3}, {"message", nullptr}},
        {{"node", "n2"}, {"state", "preparing"}, {"seconds", 12.3}, {"message", nullptr}}};
    const Table table =
        job_table(json::array({job_document(row(), execution, kSnapshot),
                               job_document(row(), execution, kSnapshot, preparing)}));
    BOOST_TEST(table.titles.back() == "Preparation");
    BOOST_TEST(table.rows[0].back().empty());
    BOOST_TEST(table.rows[1].back() == "preparing n2 (12 s)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
