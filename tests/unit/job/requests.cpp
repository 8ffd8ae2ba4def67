// SPDX-License-Identifier: Apache-2.0
// What a job file asks for that the site policy grants: priority, shared memory, secrets.
#include "job/check.hpp"
#include "job/container.hpp"
#include "job/plan.hpp"
#include "samples.hpp"

using namespace batchai::job;

namespace {

SitePolicy site(const std::string& more = "") {
    const auto parsed = parse_policy(R"(
[container.own]
command = ["/bin/sh", "--shm-size={shm_size}", "{image}"]
shm_size = "1G"
[container.shared]
command = ["/bin/sh", "{image}"]
[[image]]
name = "own"
run_on = "own"
image = "own"
[[image]]
name = "shared"
run_on = "shared"
image = "shared"
[[image]]
name = "host"
[[share]]
share = "keyed"
type = "cifs"
source = "//smb/keyed"
credentials = "job"
[[share]]
share = "plain"
source = "/srv/plain"
[[secret]]
vault = "site"
url = "https://site.vault/secrets/*"
file = "store:token"
users = ["alice", "@research"]
[[secret]]
vault = "own"
url = "*"
file = "user:token"
)" + more,
                                     "p.toml");
    for (const Finding& finding : parsed.findings) BOOST_ERROR(finding.text());
    return parsed.policy.value();
}

std::string job(const std::string& properties) {
    return R"({"properties": {"nodeCount": 1, "customToolkitSettings": {"commandLine": "true"},
               "stdOutErrPathPrefix": "/out", )" +
           properties + "}}";
}
std::string container(const std::string& image, const std::string& size) {
    return job(R"("containerSettings": {"imageSourceRegistry": {"image": ")" + image +
               R"("}, "shmSize": ")" + size + "\"}");
}
std::string reference(const std::string& vault, const std::string& url) {
    return R"({"sourceVault": {"id": "/subscriptions/s/vaults/)" + vault + R"("}, "secretUrl": ")" +
           url + "\"}";
}
std::string secret(const std::string& fields) {
    return job(R"("secrets": [{"name": "TOKEN", )" + fields + "}]");
}
std::string share(const std::string& name, const std::string& credentials) {
    return job(R"("mountVolumes": {"azureFileShares": [{
        "azureFileUrl": "https://acct.x/)" +
               name + R"(", "relativeMountPath": "d",
        "credentials": {)" +
               credentials + "}}]}");
}

// All findings but notes of keys that have an effect, a line each.
std::string said(const std::string& text, const SitePolicy& policy,
                 const CheckOptions& options = {}, bool with_notes = false) {
    std::string lines;
    for (const Finding& finding : check_job(text, "j", policy, options).findings)
        if (with_notes || finding.severity != Finding::Severity::note ||
            finding.message.starts_with("ignored"))
            lines += finding.path + ": " + finding.message + "\n";
    return lines;
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_priority_is_an_option_of_sbatch_as_the_policy_says) {
    const SitePolicy plain = site();
    BOOST_TEST(priority_option(plain, Priority::low) == "--nice=100");
    BOOST_TEST(priority_option(plain, Priority::normal).empty());
    BOOST_TEST(priority_option(plain, Priority::high).empty());
    const SitePolicy own = site(
        "[priority.high]\nqos = \"urgent\"\n[priority.low]\nnice = 7\n[priority.normal]\nnice = "
        "3\n");
    BOOST_TEST(priority_option(own, Priority::low) == "--nice=7");
    BOOST_TEST(priority_option(own, Priority::normal) == "--nice=3");
    BOOST_TEST(priority_option(own, Priority::high) == "--qos=urgent");
}

BOOST_AUTO_TEST_CASE(a_priority_that_has_no_effect_is_said) {
    const auto with = [](const std::string& priority) {
        return job(R"("schedulingPriority": ")" + priority + "\"");
    };
    BOOST_TEST(said(with("normal"), site(), {}, true).empty());
    BOOST_TEST(
        samples::contains(said(with("LOW"), site(), {}, true), "submits the job with --nice=100"));
    BOOST_TEST(said(with("high"), site()) ==
               "properties.schedulingPriority: ignored: there is no [priority.high] in p.toml\n");
    BOOST_TEST(said(with("urgent"), site()) ==
               "properties.schedulingPriority: 'urgent' is not one of low, normal and high\n");
    BOOST_TEST(said(job("\"priority\": 10"), site()) ==
               "properties.priority: ignored: of an early version: use schedulingPriority\n");
}

BOOST_AUTO_TEST_CASE(a_wrong_priority_of_the_policy_is_an_error_where_it_stands) {
    BOOST_TEST(samples::complaints("[priority.urgent]\nnice = 1\n") ==
               "p.toml:1:1: priority.urgent: is not one of low, normal and high\n");
    BOOST_TEST(
        samples::contains(samples::complaints("[priority.low]\nnice = -1\n"), "must be from 0 to"));
    BOOST_TEST(samples::contains(samples::complaints("[priority.low]\nnice = 1\nqos = \"a\"\n"),
                                 "priority.low.qos: expected either nice or qos"));
    BOOST_TEST(
        samples::contains(samples::complaints("[priority.low]\n"),
                          "priority.low.nice: neither nice nor qos is set: set one of them"));
}

BOOST_AUTO_TEST_CASE(shared_memory_has_an_effect_in_a_container_whose_runtime_takes_its_size) {
    for (const auto& [text, bytes] : {std::pair{"16gb", 16LL << 30},
                                      {"512m", 512LL << 20},
                                      {"2GB", 2LL << 30},
                                      {"64k", 64LL << 10},
                                      {"100b", 100LL}})
        BOOST_TEST(static_cast<long long>(
                       parse_job(container("own", text), "j").spec.value().shm_size.value()) ==
                   bytes);
    BOOST_TEST(said(container("own", "16gb"), site()).empty());
    BOOST_TEST(said(container("shared", "16gb"), site()) ==
               "properties.containerSettings.shmSize: ignored: [container.shared] of p.toml has no "
               "{shm_size}: /dev/shm has the size that the site gave it\n");
    BOOST_TEST(said(container("host", "16gb"), site()) ==
               "properties.containerSettings.shmSize: ignored: the job runs on the host, whose "
               "/dev/shm has the size that the site gave it\n");
    for (const char* wrong : {"much", "-1g", "0", "1tb", "1.5g"})
        BOOST_TEST(samples::contains(said(container("own", wrong), site()),
                                     "is not a size such as 512m or 16gb"),
                   wrong);
    ContainerPlaces places{"/m", "/t", "/d", 1, 2};
    BOOST_TEST(container_prefix(site(), *resolve_image(site(), "own"), places).value()[1] ==
               "--shm-size=1073741824");
    places.shm_size = 4096;
    BOOST_TEST(container_prefix(site(), *resolve_image(site(), "own"), places).value()[1] ==
               "--shm-size=4096");
    BOOST_TEST(samples::contains(
        samples::complaints("[container.a]\ncommand = [\"/r\"]\nshm_size = \"big\"\n"),
        "container.a.shm_size: 'big' is not a size"));
    BOOST_TEST(samples::contains(
        samples::complaints("[program.a]\ncommand = [\"/r\"]\nshm_size = \"1G\"\n"),
        "unknown key"));
}

BOOST_AUTO_TEST_CASE(a_secret_of_the_site_is_for_the_users_of_its_entry_only) {
    const std::string text =
        secret("\"valueSecretReference\": " + reference("site", "https://site.vault/secrets/a/1"));
    CheckOptions options;
    options.user = batchai::sys::UserNames{"alice", {"users"}};
    BOOST_TEST(said(text, site(), options).empty());
    options.user = batchai::sys::UserNames{"bob", {"users", "research"}};
    BOOST_TEST(said(text, site(), options).empty());
    for (const char* name : {"bob", "@research", "research", ""}) {
        options.user = batchai::sys::UserNames{name, {"users", "alice"}};
        BOOST_TEST(samples::contains(
                       said(text, site(), options),
                       "properties.secrets[0].valueSecretReference: secret "
                       "'https://site.vault/secrets/a/1' of key vault 'site' is not for user "),
                   name);
    }
    const std::string own = secret("\"valueSecretReference\": " + reference("own", "anything"));
    BOOST_TEST(said(own, site(), options).empty());
    const std::string other =
        secret("\"valueSecretReference\": " + reference("site", "https://other/secrets/a"));
    BOOST_TEST(samples::contains(said(other, site(), options),
                                 "is unknown here: no [[secret]] of p.toml names it"));
}

BOOST_AUTO_TEST_CASE(a_wrong_reference_is_an_error_where_it_stands) {
    for (const auto& [fields, error] :
         {std::pair<std::string, std::string>{"\"valueSecretReference\": {}",
                                              "sourceVault: required"},
          {"\"valueSecretReference\": {\"sourceVault\": {\"id\": \"/a b\"}, \"secretUrl\": \"u\"}",
           "does not end in the name of a key vault"},
          {"\"valueSecretReference\": {\"sourceVault\": {\"id\": \"a\"}}", "secretUrl: required"},
          {"\"valueSecretReference\": \"u\"", "expected an object"},
          {"\"value\": \"v\", \"valueSecretReference\": " + reference("own", "u"),
           "a secret has either this or 'value'"}})
        BOOST_TEST(samples::contains(said(secret(fields), site()), error), fields);
    BOOST_TEST(samples::contains(
        said(share("keyed", "\"accountKey\": \"k\", \"accountKeySecretReference\": " +
                                reference("own", "u")),
             site()),
        "credentials have either this or accountKey"));
    // The service had no reference to a variable that is not a secret.
    BOOST_TEST(samples::contains(
        said(job("\"environmentVariables\": [{\"name\": \"A\", \"valueSecretReference\": " +
                 reference("own", "u") + "}]"),
             site()),
        "valueSecretReference: unknown key"));
}

BOOST_AUTO_TEST_CASE(a_key_of_an_account_may_be_a_reference_and_has_an_effect_where_it_is_used) {
    const std::string own = "\"accountKeySecretReference\": " + reference("own", "u");
    BOOST_TEST(said(share("keyed", own), site()).empty());
    BOOST_TEST(samples::contains(said(share("plain", own), site()),
                                 "ignored: this site mounts the volume without the account's key"));
    BOOST_TEST(
        samples::contains(said(share("keyed", ""), site()), "needs the key of its account here"));
    const std::string other = "\"accountKeySecretReference\": " + reference("none", "u");
    BOOST_TEST(samples::contains(said(share("keyed", other), site()), "is unknown here"));
    // The key of the command line is not put in its place.
    CheckOptions options;
    options.storage_key = "of the command line";
    const auto parsed = check_job(share("keyed", own), "j", site(), options);
    BOOST_TEST(parsed.spec.value().volumes[0].account_key.empty());
}

BOOST_AUTO_TEST_CASE(the_environment_has_no_reference_that_was_not_read) {
    JobSpec spec =
        parse_job(secret("\"valueSecretReference\": " + reference("own", "u")), "j").spec.value();
    BOOST_TEST(job_environment(spec, {}, {}).count("TOKEN") == 0u);
    spec.secrets[0].value = "$AZ_BATCHAI_MOUNT_ROOT";
    BOOST_TEST(job_environment(spec, {}, {})["TOKEN"] == "$AZ_BATCHAI_MOUNT_ROOT");
}

BOOST_AUTO_TEST_CASE(a_wrong_secret_of_the_policy_is_an_error_where_it_stands) {
    const std::string start = "[[secret]]\nvault = \"a\"\nurl = \"b\"\n";
    BOOST_TEST(samples::contains(samples::complaints(start + "file = \"/etc/shadow\"\n"),
                                 "is not store:NAME or user:NAME"));
    BOOST_TEST(samples::contains(samples::complaints(start + "file = \"store:../x\"\n"),
                                 "is not store:NAME or user:NAME"));
    BOOST_TEST(
        samples::contains(samples::complaints(start + "file = \"store:x\"\n"),
                          "secret[0].users: a secret of the store needs a list of the users"));
    BOOST_TEST(
        samples::contains(samples::complaints(start + "file = \"user:x\"\nusers = [\"alice\"]\n"),
                          "remove this key: only its owner's jobs use a user's own file"));
    BOOST_TEST(samples::contains(samples::complaints("[[secret]]\n"), "vault: required"));
}
