// SPDX-License-Identifier: Apache-2.0
#include "cli/job/clusters.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/temporary_directory.hpp"

namespace batchai::cli {
namespace {

// "idle running preparing leaving unusable" of one node.
std::string counted(const std::string& state) {
    NodeCounts counts;
    count_node(counts, state);
    std::string text;
    for (const int n :
         {counts.idle, counts.running, counts.preparing, counts.leaving, counts.unusable})
        text += static_cast<char>('0' + n);
    return text + (counts.resizing ? "r" : "");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(clusters)

BOOST_AUTO_TEST_CASE(count_nodes_as_the_service_did) {
    BOOST_TEST(counted("idle") == "10000");
    BOOST_TEST(counted("allocated") == "01000");
    BOOST_TEST(counted("mixed") == "01000");
    BOOST_TEST(counted("completing") == "01000");
    BOOST_TEST(counted("draining") == "00010");
    for (const char* state : {"drained", "down", "down*", "idle*", "fail", "unknown", "maint",
                              "inval", "reserved", "idle$"})
        BOOST_TEST(counted(state) == "00001", state);
}

BOOST_AUTO_TEST_CASE(nodes_in_power_saving_are_coming_going_or_not_there) {
    BOOST_TEST(counted("idle~") == "00000");
    BOOST_TEST(counted("allocated#") == "00100r");
    BOOST_TEST(counted("powering_up") == "00100r");
    BOOST_TEST(counted("idle%") == "00010r");
    BOOST_TEST(counted("powering_down") == "00010r");
}

BOOST_AUTO_TEST_CASE(are_bound_by_record_then_by_policy_and_else_refused) {
    const test::TemporaryDirectory directory;
    auto history = *History::open(directory.path());
    job::SitePolicy policy;
    policy.clusters["nc6"] = {"gpu", "STANDARD_NC6", "gpu:1"};
    const auto bound = [&](const char* name) {
        return bind_cluster(history, policy, {"default", "default", name});
    };
    BOOST_TEST(bound("")->partition.empty());
    BOOST_TEST(bound("nc6")->partition == "gpu");
    BOOST_TEST(bound("nc6")->gres == "gpu:1");
    BOOST_REQUIRE(history.put(
        {Resource::Kind::cluster, "default", "default", "nc6", {{"partition", "long"}}}));
    BOOST_TEST(bound("nc6")->partition == "long");
    BOOST_TEST(bound("nc6")->gres == "gpu:1");
    const auto unknown = bound("nc7");
    BOOST_REQUIRE(!unknown);
    BOOST_TEST(unknown.error().message.find("[cluster.nc7]") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
