// SPDX-License-Identifier: Apache-2.0
#include "job/policy.hpp"

#include "samples.hpp"

using namespace batchai::job;

namespace {
std::string first_finding(const std::string& text) {
    const auto parsed = parse_policy(text, "p.toml");
    return parsed.findings.empty() ? "" : parsed.findings[0].text();
}

std::string findings(const std::string& text) {
    std::string all;
    for (const Finding& finding : parse_policy(text, "p.toml").findings)
        all += finding.text() + "\n";
    return all;
}
}  // namespace

// The original's commented examples, uncommented: they have to be right, and to name every key.
BOOST_AUTO_TEST_CASE(the_examples_of_the_commented_original_are_a_policy) {
    std::istringstream original(samples::file("etc/batchai.toml"));
    std::string text;
    bool example = false;
    for (std::string line; std::getline(original, line);) {
        if (line.rfind("# [", 0) == 0) example = true;
        if (line.empty()) example = false;
        text += (example ? line.substr(2) : line) + "\n";
    }
    BOOST_TEST(findings(text) == "");
    const SitePolicy policy = parse_policy(text, "p.toml").policy.value();
    BOOST_TEST(policy.shares.size() == 1u);
    BOOST_TEST(policy.images.size() == 1u);
    BOOST_TEST(policy.preparations.size() == 1u);
    BOOST_TEST(policy.allowed.size() == 1u);
    BOOST_TEST(policy.clusters.at("nc6cluster").gres == "gpu:1");
    for (const char* key :
         {"mount_root", "job_temp", "python",    "rank_per_gpu", "preparation_timeout",
          "account",    "share",    "type",      "source",       "login_path",
          "read_only",  "name",     "run_on",    "say",          "command",
          "replace",    "max_size", "partition", "vm_size",      "gres",
          "prepare"})
        BOOST_TEST_CONTEXT(key)
    BOOST_TEST((text.find("\n" + std::string(key) + " = ") != text.npos));
}

BOOST_AUTO_TEST_CASE(the_commented_original_is_a_policy_that_allows_nothing) {
    const auto parsed = parse_policy(samples::file("etc/batchai.toml"), "etc/batchai.toml");
    const SitePolicy& policy = parsed.policy.value();
    BOOST_TEST(policy.shares.empty());
    BOOST_TEST(policy.allowed.empty());
    BOOST_TEST(policy.preparation_timeout == 600);
    BOOST_TEST(policy.prepare_all_nodes);
}

BOOST_AUTO_TEST_CASE(nodes_are_prepared_all_at_once_or_each_at_its_first_step) {
    const auto all_nodes = [](const std::string& text) {
        return parse_policy(text, "p.toml").policy.value().prepare_all_nodes;
    };
    BOOST_TEST(all_nodes("[job]\nprepare = \"all-nodes\"\n"));
    BOOST_TEST(!all_nodes("[job]\nprepare = \"first-step\"\n"));
    BOOST_TEST(findings("[job]\nprepare = \"lazily\"\n") ==
               "p.toml:2:11: job.prepare: 'lazily' is not one of all-nodes and first-step\n");
}

BOOST_AUTO_TEST_CASE(an_admins_typo_is_an_error_with_its_place) {
    BOOST_TEST(first_finding("[paths]\nmount_rot = \"/x\"\n") ==
               "p.toml:2:13: paths.mount_rot: unknown key; did you mean 'mount_root'?");
    BOOST_TEST(first_finding("[job]\npreparation_timeout = 0\n") ==
               "p.toml:2:23: job.preparation_timeout: must be from 1 to 86400");
    BOOST_TEST(first_finding("[[share]]\nshare = \"a\"\nsource = \"/data/../etc\"\n")
                   .find("share[0].source: '/data/../etc' is not an absolute path") !=
               std::string::npos);
    BOOST_TEST(findings("[[share]]\nsource = 3\n") ==
               "p.toml:1:1: share[0].share: required, but not there\n"
               "p.toml:2:10: share[0].source: expected a string\n");
    BOOST_TEST(findings("[cluster.a]\npartitoin = \"x\"\n") ==
               "p.toml:2:13: cluster.a.partitoin: unknown key; did you mean 'partition'?\n");
    BOOST_TEST(findings("[cluster]\na = 1\n") ==
               "p.toml:2:5: cluster.a: expected a table: [cluster.a]\n");
    BOOST_TEST(findings("[[allow]]\n") == "p.toml:1:1: allow[0].source: required, but not there\n");
    BOOST_TEST(findings("[[allow]]\ntype = \"tmpfs\"\nsource = \"/x\"\n") ==
               "p.toml:3:10: allow[0].source: a tmpfs has none\n");
    BOOST_TEST(findings("[[allow]]\ntype = \"tmpfs\"\nmax_size = \"lots\"\n") ==
               "p.toml:3:12: allow[0].max_size: 'lots' is not a size such as 512M or 4G\n");
    BOOST_TEST(findings("[[image]]\nname = \"x\"\nrun_on = \"moon\"\n") ==
               "p.toml:3:10: image[0].run_on: must be \"host\"\n");
    BOOST_TEST(findings("share = 1\n") ==
               "p.toml:1:9: share: expected an array of tables: [[share]]\n");
    BOOST_TEST(findings("[paths]\nmount_root = \"here\"\n") ==
               "p.toml:2:14: paths.mount_root: 'here' is not an absolute path without '..'\n");
    BOOST_TEST(first_finding("[[allow]]\ntype = \"nfs\"\n").find("allow[0].type") !=
               std::string::npos);
    BOOST_TEST(first_finding("x = [1,\n").find("p.toml:") == 0u);
}

BOOST_AUTO_TEST_CASE(an_empty_text_is_no_path_and_no_name) {
    for (const char* text :
         {"[paths]\nmount_root = \"\"", "[paths]\njob_temp = \"\"", "[job]\npython = \"\"",
          "[[share]]\naccount = \"\"\nshare = \"a\"\nsource = \"/a\"",
          "[[share]]\nsource = \"\"\nshare = \"a\"", "[[image]]\nname = \"\"",
          "[[share]]\nshare = \"\"\nsource = \"/a\"", "[[preparation]]\ncommand = \"\"",
          "[[share]]\nlogin_path = \"\"\nshare = \"a\"\nsource = \"/a\"",
          "[[allow]]\nsource = \"\""})
        BOOST_TEST(findings(text).find(": is empty\n") != std::string::npos, text);
    BOOST_TEST(findings("[cluster.\"\"]\n").find("is not a name") != std::string::npos);
    BOOST_TEST(findings("[[preparation]]\ncommand = \"x\"\nreplace = \"\"\n") == "");
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
    SitePolicy by_account = policy;
    by_account.shares[0].account = "my*";
    AzureFileShare share = spec.azure_file_shares[0];
    BOOST_TEST(resolve_share(by_account, share).error().message.find("--storage-account-name") !=
               std::string::npos);
    share.account = "myaccount";
    BOOST_TEST(resolve_share(by_account, share)->source == "/srv/myshare");
    share.account = "yours";
    BOOST_TEST(!resolve_share(by_account, share).has_value());
    AzureFileShare other;
    other.share = "other";
    BOOST_TEST(resolve_share(policy, other).error().message.find("[[share]]") != std::string::npos);
}
