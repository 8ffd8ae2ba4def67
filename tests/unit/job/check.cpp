// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"

#include "samples.hpp"

using namespace batchai::job;

namespace {
std::string only_error(const std::string& text, const CheckOptions& options) {
    const auto parsed = check_job(text, "job.json", samples::policy(), options);
    BOOST_TEST(!parsed.spec);
    BOOST_TEST(parsed.findings.size() == 1u);
    return parsed.findings.empty() ? "" : parsed.findings[0].text();
}
bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
}  // namespace

BOOST_AUTO_TEST_CASE(passes_the_walk_throughs_job) {
    CheckOptions options;
    options.storage_account = "mystorageaccount";
    options.cluster_nodes = 4;
    options.file_exists = [](const std::string& path) {
        return path == "/srv/myshare/cifar/cifar_cnn_distributed.py";
    };
    const auto parsed = check_job(samples::tutorial(), "job.json", samples::policy(), options);
    BOOST_TEST(parsed.findings.empty());
    BOOST_TEST(parsed.spec.value().azure_file_shares[0].account == "mystorageaccount");
}

BOOST_AUTO_TEST_CASE(refuses_what_the_site_does_not_have) {
    CheckOptions options;
    BOOST_TEST(contains(only_error(samples::tutorial_with("net/myshare", "net/other"), options),
                        "azureFileUrl: share 'other' is unknown here"));
    BOOST_TEST(contains(only_error(samples::tutorial_with("tensorflow/", "pytorch/"), options),
                        "no [[image]] of batchai.toml names it"));
    options.cluster_nodes = 3;
    BOOST_TEST(
        contains(only_error(samples::tutorial(), options),
                 "job.json:4:22: properties.nodeCount: asks for 4 nodes, the cluster has 3"));
}

BOOST_AUTO_TEST_CASE(refuses_a_script_that_is_not_on_the_share) {
    CheckOptions options;
    options.file_exists = [](const std::string&) { return false; };
    BOOST_TEST(contains(only_error(samples::tutorial(), options),
                        "upload it to /srv/myshare/cifar/cifar_cnn_distributed.py"));
}
