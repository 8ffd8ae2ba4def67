// SPDX-License-Identifier: Apache-2.0
#include "cli/policy/policy_entries.hpp"

#include <boost/test/unit_test.hpp>

namespace batchai::cli {
namespace {

const char* const kJob = R"({"properties": {
    "nodeCount": 1,
    "customToolkitSettings": {"commandLine": "true"},
    "containerSettings": {"imageSourceRegistry": {"image": "a/b:1 \"x\""}},
    "stdOutErrPathPrefix": "$AZ_BATCHAI_MOUNT_ROOT/external/logs",
    "mountVolumes": {
        "azureFileShares": [{"azureFileUrl": "https://a.file.core.windows.net/myshare",
                             "relativeMountPath": "afs"}],
        "azureBlobFileSystems": [{"accountName": "a", "containerName": "images",
                                  "relativeMountPath": "bfs"}]}}})";

std::string joined(const std::vector<std::string>& entries) {
    std::string text;
    for (const auto& entry : entries) text += entry;
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(policy_entries)

BOOST_AUTO_TEST_CASE(missing_entries_make_a_policy_without_missing_entries) {
    const auto parsed = job::parse_job(kJob, "job.json");
    const auto entries = missing_entries(job::SitePolicy(), parsed);
    BOOST_TEST(entries.size() == 4U, joined(entries));
    const auto policy = job::parse_policy(joined(entries), "policy");
    BOOST_REQUIRE(policy.policy);
    BOOST_TEST(joined(missing_entries(*policy.policy, parsed)) == "");
}

BOOST_AUTO_TEST_CASE(an_assigned_entry_names_its_directory) {
    const auto assignments = read_assignments({"myshare=/tmp", "external=/"}, {});
    BOOST_REQUIRE(assignments);
    const auto spec = job::parse_job(kJob, "job.json").spec;
    BOOST_REQUIRE(spec);
    const auto entries = assigned_entries(*spec, *assignments);
    BOOST_REQUIRE(entries.size() == 2U);
    BOOST_TEST(entries[0].find("source = \"/tmp\"\n") != std::string::npos);
    BOOST_TEST(entries[1].find("[[cluster_volume]]\npath = \"external\"\n") == 0U);
}

BOOST_AUTO_TEST_CASE(a_wrong_assignment_is_refused) {
    BOOST_TEST(!read_assignments({"myshare"}, {}));
    BOOST_TEST(!read_assignments({"=x"}, {}));
    BOOST_TEST(!read_assignments({"x=/no/such/directory"}, {}));
    BOOST_TEST(!read_assignments({}, {"image="}));
}

BOOST_AUTO_TEST_CASE(quote_a_name_that_toml_would_take_for_something_else) {
    BOOST_TEST(cluster_entry("a.b]").find("[cluster.\"a.b]\"]\n") == 0U);
    BOOST_TEST(cluster_entry("nc6").find("[cluster.nc6]\n") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
