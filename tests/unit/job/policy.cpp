// SPDX-License-Identifier: Apache-2.0
#include "job/policy.hpp"

#include "samples.hpp"

using namespace batchai::job;

namespace {
std::string first_finding(const std::string& text) {
    const auto parsed = parse_policy(text, "p.toml");
    return parsed.findings.empty() ? "" : parsed.findings[0].text();
}
}  // namespace

BOOST_AUTO_TEST_CASE(the_commented_original_is_a_policy_that_allows_nothing) {
    const auto parsed = parse_policy(samples::file("etc/batchai.toml"), "etc/batchai.toml");
    const SitePolicy& policy = parsed.policy.value();
    BOOST_TEST(policy.shares.empty());
    BOOST_TEST(policy.allowed.empty());
    BOOST_TEST(policy.preparation_timeout == 600);
}

BOOST_AUTO_TEST_CASE(an_admins_typo_is_an_error_with_its_place) {
    BOOST_TEST(first_finding("[paths]\nmount_rot = \"/x\"\n") ==
               "p.toml:2:13: paths.mount_rot: unknown key; did you mean 'mount_root'?");
    BOOST_TEST(first_finding("[job]\npreparation_timeout = 0\n") ==
               "p.toml:2:23: job.preparation_timeout: must be from 1 to 86400");
    BOOST_TEST(first_finding("[[share]]\nshare = \"a\"\nsource = \"/data/../etc\"\n")
                   .find("share[0].source: '/data/../etc' is not an absolute path") !=
               std::string::npos);
    BOOST_TEST(first_finding("[[allow]]\ntype = \"nfs\"\n").find("allow[0].type") !=
               std::string::npos);
    BOOST_TEST(first_finding("x = [1,\n").find("p.toml:") == 0u);
}

BOOST_AUTO_TEST_CASE(maps_the_walk_throughs_names) {
    const SitePolicy policy = samples::policy();
    const JobSpec spec = parse_job(samples::tutorial(), "job.json").spec.value();
    BOOST_TEST(resolve_share(policy, spec.azure_file_shares[0])->source == "/srv/myshare");
    BOOST_TEST(resolve_image(policy, *spec.image)->run_on == "host");
    const Preparation preparation = resolve_preparation(policy, spec);
    BOOST_TEST(preparation.command.find("import torch") != std::string::npos);
    BOOST_TEST(!preparation.note.empty());
    BOOST_TEST(!resolve_image(policy, "ubuntu").has_value());
    AzureFileShare other;
    other.share = "other";
    BOOST_TEST(resolve_share(policy, other).error().message.find("[[share]]") != std::string::npos);
}
