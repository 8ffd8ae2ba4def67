// SPDX-License-Identifier: Apache-2.0
#include "cli/job/mounts.hpp"

#include <boost/test/unit_test.hpp>

#include "cli/command_options.hpp"
#include "job/volumes.hpp"
#include "slurm/limits.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {

using nlohmann::json;

BOOST_AUTO_TEST_SUITE(mounts)

BOOST_AUTO_TEST_CASE(mount_options_become_volumes_of_a_job) {
    MountOptions options;
    BOOST_TEST(mount_volumes(options, {}).is_null());
    options.share = "s";
    options.file_server = "n";
    const json volumes = mount_volumes(options, {"g", "w", "e"});
    BOOST_TEST(volumes["azureFileShares"][0]["azureFileUrl"] ==
               "https://<AZURE_BATCHAI_STORAGE_ACCOUNT>.file.core.windows.net/s");
    BOOST_TEST(volumes["fileServers"][0]["relativeMountPath"] == "nfs");
    BOOST_TEST(!volumes.contains("azureBlobFileSystems"));
}

BOOST_AUTO_TEST_CASE(a_volume_of_a_cluster_does_not_replace_one_of_the_job) {
    const auto list = [](const char* url, const char* path) {
        return json::array({{{"azureFileUrl", url}, {"relativeMountPath", path}}});
    };
    job::Json properties{{"mountVolumes", {{"azureFileShares", list("own", "afs")}}}};
    merge_volumes(properties, {{"azureFileShares", list("cluster", "afs")}});
    merge_volumes(properties, {{"azureFileShares", list("cluster", "more")}});
    const job::Json shares = properties["mountVolumes"]["azureFileShares"];
    BOOST_REQUIRE(shares.size() == 2U);
    BOOST_TEST(shares[0]["azureFileUrl"] == "own");
    BOOST_TEST(shares[1]["relativeMountPath"] == "more");
}

BOOST_AUTO_TEST_CASE(the_account_replaces_its_placeholder_in_volumes) {
    MountOptions options;
    options.share = "s";
    options.container = "c";
    json volumes = mount_volumes(options, {});
    fill_in_account(volumes, "mine");
    BOOST_TEST(volumes["azureFileShares"][0]["azureFileUrl"] ==
               "https://mine.file.core.windows.net/s");
    BOOST_TEST(volumes["azureBlobFileSystems"][0]["accountName"] == "mine");
    json nothing;
    fill_in_account(nothing, "mine");
    BOOST_TEST(nothing.is_null());
    BOOST_TEST(job::read_volumes(volumes)->size() == 2U);
    volumes["azureFileShares"][0]["relativeMountPath"] = "/abs";
    BOOST_TEST(job::read_volumes(volumes).error().message.find(
                   "properties.mountVolumes.azureFileShares[0].relativeMountPath: '/abs'") == 0U);
}

BOOST_AUTO_TEST_CASE(volumes_are_not_merged_into_a_value_that_is_not_an_object) {
    job::Json wrong = {{"mountVolumes", 5}};
    merge_volumes(wrong, {{"azureFileShares", json::array()}});
    BOOST_TEST(wrong["mountVolumes"] == 5);
    job::Json nothing;
    merge_volumes(nothing, {{"azureFileShares", json::array()}});
    BOOST_TEST(nothing.is_null());
}

BOOST_AUTO_TEST_CASE(ids_of_azure_name_their_group_and_workspace) {
    Scope scope;
    std::string name =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.BatchAI/workspaces/w/clusters/c";
    take_arm_id(name, scope);
    BOOST_TEST(name == "c");
    BOOST_TEST(scope.resource_group == "g");
    BOOST_TEST(scope.workspace == "w");
    BOOST_TEST(scope.experiment == "default");
    name = "subscriptions";
    take_arm_id(name, scope);
    BOOST_TEST(name == "subscriptions");
}

BOOST_AUTO_TEST_CASE(usage_and_limits_are_read_as_slurm_prints_them) {
    const auto usage = slurm::parse_own_usage("R 2\nPD 4\nR 1\n");
    BOOST_TEST(usage.nodes == 3);
    BOOST_TEST(usage.running == 2);
    BOOST_TEST(usage.submitted == 3);
    const auto limits = slurm::parse_own_limits("cpu=4,node=8|10|\n|5|100\n");
    BOOST_TEST(*limits.nodes == 8);
    BOOST_TEST(*limits.running == 5);
    BOOST_TEST(*limits.submitted == 100);
    BOOST_TEST(!slurm::parse_own_limits("||\n").nodes);
    const auto nodes = slurm::parse_node_addresses(
        "NodeName=n1 Arch=x NodeAddr=10.0.0.1 NodeHostName=n1\n"
        "NodeName=n2 NodeAddr=10.0.0.2\n");
    BOOST_REQUIRE(nodes.size() == 2U);
    BOOST_TEST(nodes[1].second == "10.0.0.2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
