// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"

#include <boost/test/data/test_case.hpp>

#include "samples.hpp"

using namespace batchai::job;

namespace {
std::string only_error(const std::string& text, const CheckOptions& options) {
    const auto parsed = check_job(text, "job.json", samples::policy(), options);
    BOOST_TEST(!parsed.spec);
    std::string errors;
    for (const Finding& finding : parsed.findings)
        if (finding.severity == Finding::Severity::error) errors += finding.text() + "\n";
    BOOST_TEST(errors.find('\n') == errors.size() - 1, errors);
    return errors;
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
    BOOST_TEST(!has_error(parsed.findings));
    BOOST_REQUIRE(parsed.findings.size() == 2u);  // what the site does differently
    BOOST_TEST(samples::contains(parsed.findings[0].text(),
                                 "job.json:19:28: note: properties.jobPreparation.commandLine: "
                                 "preparation: this site replaces 'apt update"));
    BOOST_TEST(samples::contains(parsed.findings[1].text(), "this site runs it on the host"));
    BOOST_TEST(parsed.spec.value().volumes[0].account == "mystorageaccount");
}

BOOST_AUTO_TEST_CASE(refuses_what_the_site_does_not_have) {
    CheckOptions options;
    BOOST_TEST(
        samples::contains(only_error(samples::tutorial_with("net/myshare", "net/other"), options),
                          "azureFileUrl: share 'other' is unknown here"));
    BOOST_TEST(
        samples::contains(only_error(samples::tutorial_with("tensorflow/", "pytorch/"), options),
                          "no [[image]] of batchai.toml names it"));
    options.cluster_nodes = 3;
    BOOST_TEST(samples::contains(
        only_error(samples::tutorial(), options),
        "job.json:4:22: properties.nodeCount: asks for 4 nodes, the cluster has 3"));
}

BOOST_AUTO_TEST_CASE(refuses_a_script_that_is_not_on_the_share) {
    CheckOptions options;
    options.file_exists = [](const std::string&) { return false; };
    BOOST_TEST(samples::contains(only_error(samples::tutorial(), options),
                                 "upload it to /srv/myshare/cifar/cifar_cnn_distributed.py"));
}

BOOST_AUTO_TEST_CASE(refuses_an_output_directory_that_the_user_cannot_make) {
    CheckOptions options;
    std::string base, directory;
    options.writable = [&](const std::string& share, const std::string& path) {
        base = share;
        directory = path;
        return batchai::sys::Result<void>(
            batchai::sys::Error{"/srv/myshare/cifar: belongs to alice"});
    };
    BOOST_TEST(
        samples::contains(only_error(samples::tutorial(), options),
                          "properties.stdOutErrPathPrefix: /srv/myshare/cifar: belongs to alice"));
    BOOST_TEST(base == "/srv/myshare");
    BOOST_TEST(directory == "/srv/myshare/cifar");  // no job yet: only the prefix is known
    options.identity = Identity();
    options.identity->name = "train";
    (void)only_error(samples::tutorial(), options);
    BOOST_TEST(
        directory ==
        "/srv/myshare/cifar/slurm/default/workspaces/default/experiments/default/jobs/train");
}

BOOST_AUTO_TEST_CASE(does_not_ask_the_login_node_about_modes_that_a_mount_of_the_job_decides) {
    CheckOptions options;
    bool asked = false;
    options.writable = [&](const std::string&, const std::string&) {
        asked = true;
        return batchai::sys::Result<void>();
    };
    auto policy = samples::policy();
    policy.volumes.at(0).file_system.type = MountType::cifs;
    (void)check_job(samples::tutorial(), "job.json", policy, options);
    BOOST_TEST(!asked);
}

BOOST_AUTO_TEST_CASE(leaves_a_script_to_the_shell_that_only_a_shell_can_find) {
    CheckOptions options;
    options.file_exists = [](const std::string&) { return false; };
    for (const char* script :
         {"\\\"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/a b.py\\\"",
          "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/$NAME.py", "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/*.py",
          "train.py", "$AZ_BATCHAI_JOB_TEMP/train.py"}) {
        const auto parsed = check_job(
            samples::tutorial_with(
                "$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar/cifar_cnn_distributed.py", script),
            "job.json", samples::policy(), options);
        BOOST_TEST(parsed.spec.has_value(), script);
    }
}

BOOST_AUTO_TEST_CASE(no_job_is_submitted_whose_standard_output_is_on_no_volume) {
    const std::string text =
        samples::tutorial_with("\"stdOutErrPathPrefix\": \"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare",
                               "\"stdOutErrPathPrefix\": \"$AZ_BATCHAI_JOB_MOUNT_ROOT/external");
    BOOST_TEST(samples::contains(only_error(text, {}), "external/cifar' is on no volume"));
    auto policy = samples::policy();
    VolumePolicy external;
    external.kind = Volume::Kind::cluster;
    external.name = "external";
    external.file_system.source = "/srv/external";
    policy.volumes.push_back(external);
    BOOST_TEST(check_job(text, "job.json", policy, {}).spec.has_value());
}

namespace {

// Of a job whose share is mounted from a directory below it, with an input there.
std::vector<std::string> findings_about(const std::string& inputs, const std::string& outputs,
                                        const CheckOptions& options = {},
                                        const SitePolicy& policy = samples::policy()) {
    const std::string text = R"({"properties": {"nodeCount": 1,
        "stdOutErrPathPrefix": "/o",
        "mountVolumes": {"azureFileShares": [{"relativeMountPath": "s",
            "azureFileUrl": "https://a.file.core.windows.net/myshare/logs"}]},
        "inputDirectories": [)" +
                             inputs + R"(], "outputDirectories": [)" + outputs + R"(],
        "customToolkitSettings": {"commandLine": "true"}}})";
    std::vector<std::string> lines;
    for (const Finding& finding : check_job(text, "job.json", policy, options).findings)
        lines.push_back(finding.text());
    return lines;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_missing_directory_of_a_share_does_not_wait_for_the_nodes_to_be_found) {
    CheckOptions options;
    options.is_missing = [](const std::string& path) { return path == "/srv/myshare/logs"; };
    const auto found = findings_about("", "", options);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(samples::contains(found[0],
                                 "azureFileUrl: 'logs' is not a directory of share 'myshare' of "
                                 "account 'a': make /srv/myshare/logs"));
}

BOOST_AUTO_TEST_CASE(warns_of_inputs_that_are_not_there) {
    CheckOptions options;
    options.is_missing = [](const std::string& path) { return path == "/srv/myshare/logs/none"; };
    const auto found = findings_about(
        R"({"id": "A", "path": "$AZ_BATCHAI_MOUNT_ROOT/elsewhere"},
           {"id": "B", "path": "$AZ_BATCHAI_JOB_MOUNT_ROOT/s/none"},
           {"id": "C", "path": "$AZ_BATCHAI_JOB_MOUNT_ROOT/s/there"}, {"id": "D", "path": "/data"})",
        "", options);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(samples::contains(found[0],
                                 "warning: properties.inputDirectories[0].path: "
                                 "'$AZ_BATCHAI_MOUNT_ROOT/elsewhere' is on no volume"));
    BOOST_TEST(samples::contains(found[1],
                                 "inputDirectories[1].path: '$AZ_BATCHAI_JOB_MOUNT_ROOT/s/none' is "
                                 "not there yet: upload it to /srv/myshare/logs/none"));
}

BOOST_AUTO_TEST_CASE(warns_of_an_input_that_is_relative_or_has_a_variable_that_no_one_replaces) {
    for (const auto& [path, said] :
         {std::pair{"data/x", "'data/x' is looked for in $AZ_BATCHAI_JOB_TEMP/wd"},
          {"~/data", "'~/data' stays as it is: only $AZ_BATCHAI_ variables"},
          {"$HOME/data", "'$HOME/data' stays as it is"}}) {
        const auto found =
            findings_about(R"({"id": "A", "path": ")" + std::string(path) + R"("})", "");
        BOOST_REQUIRE(found.size() == 1u);
        BOOST_TEST(samples::contains(
            found[0], std::string("warning: properties.inputDirectories[0].path: ") + said));
    }
    for (const char* path : {"/data", "$AZ_BATCHAI_JOB_TEMP/x", "${AZ_BATCHAI_JOB_MOUNT_ROOT}/s"})
        BOOST_TEST(
            findings_about(R"({"id": "A", "path": ")" + std::string(path) + R"("})", "").empty());
}

BOOST_AUTO_TEST_CASE(warns_of_output_that_goes_with_the_job) {
    const auto found = findings_about("", R"({"id": "O", "pathPrefix": "$AZ_BATCHAI_JOB_TEMP/o"},
        {"id": "P", "pathPrefix": "${AZ_BATCHAI_JOB_TEMP_DIR}"},
        {"id": "S", "pathPrefix": "$AZ_BATCHAI_SHARED_JOB_TEMP"},
        {"id": "Q", "pathPrefix": "$AZ_BATCHAI_JOB_TEMP/q", "createNew": false})");
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(
        samples::contains(found[0],
                          "warning: properties.outputDirectories[0].pathPrefix: "
                          "'$AZ_BATCHAI_JOB_TEMP/o' is removed from each node with the job"));
    BOOST_TEST(samples::contains(found[1], "outputDirectories[1].pathPrefix: "));
}

BOOST_AUTO_TEST_CASE(warns_of_an_output_that_a_container_may_not_see) {
    auto policy = samples::policy();
    const char* const output = R"({"id": "O", "pathPrefix": "/scratch/out"})";
    BOOST_TEST(findings_about("", output, {}, policy).empty());
    policy.containers["runtime"] = {{"/usr/bin/runtime", "{image}"}};
    ImagePolicy image;
    image.name = "*";
    image.run_on = "runtime";
    policy.images.insert(policy.images.begin(), image);
    const std::string text = R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
        "containerSettings": {"imageSourceRegistry": {"image": "i"}},
        "outputDirectories": [{"id": "O", "pathPrefix": "/scratch/out"}],
        "customToolkitSettings": {"commandLine": "true"}}})";
    std::string found;
    for (const Finding& finding : check_job(text, "job.json", policy, {}).findings)
        found += finding.text() + "\n";
    BOOST_TEST(
        samples::contains(found, "'/scratch/out' is in the container only if [container.runtime]"));
}

BOOST_AUTO_TEST_CASE(an_output_prefix_may_be_below_an_input_directory) {
    BOOST_TEST(findings_about(R"({"id": "IN", "path": "$AZ_BATCHAI_JOB_MOUNT_ROOT/s/data"})",
                              R"({"id": "O", "pathPrefix": "$AZ_BATCHAI_INPUT_IN/out"})")
                   .empty());
    // And an input below an output, as before.
    BOOST_TEST(findings_about(R"({"id": "IN", "path": "$AZ_BATCHAI_OUTPUT_O/data"})",
                              R"({"id": "O", "pathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/s"})")
                   .empty());
    const auto none =
        findings_about("", R"({"id": "O", "pathPrefix": "$AZ_BATCHAI_INPUT_NO/out"})");
    BOOST_REQUIRE(!none.empty());
    BOOST_TEST(samples::contains(none[0], "is not an absolute path"));
}

BOOST_AUTO_TEST_CASE(warns_of_a_toolkits_variable_where_it_is_not_set_yet) {
    const auto parsed = check_job(R"({"properties": {"nodeCount": 2, "stdOutErrPathPrefix": "/o",
        "environmentVariables": [{"name": "A", "value": "$AZ_BATCHAI_TASK_INDEX"}],
        "caffe2Settings": {"pythonScriptFilePath": "t.py $AZ_BATCHAI_TASK_INDEX"}}})",
                                  "j", samples::policy(), {});
    BOOST_REQUIRE(parsed.findings.size() == 1u);
    BOOST_TEST(parsed.findings[0].path == "properties.environmentVariables[0].value");
}

BOOST_AUTO_TEST_CASE(warns_of_a_variable_that_the_job_does_not_have) {
    const auto parsed =
        check_job(samples::tutorial_with("--dir=$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar",
                                         "$AZ_BATCHAI_INPUT_DATA $AZ_BATCHAI_JOB_TEMP $HOME"),
                  "job.json", samples::policy(), {});
    BOOST_REQUIRE(parsed.spec.has_value());
    std::string warnings;
    for (const Finding& finding : parsed.findings)
        if (finding.severity == Finding::Severity::warning)
            warnings += finding.path + ": " + finding.message + "\n";
    BOOST_TEST(warnings ==
               "properties.horovodSettings.commandLineArgs: $AZ_BATCHAI_INPUT_DATA is not set "
               "in this job: an empty string replaces it\n");
}

BOOST_AUTO_TEST_CASE(warns_of_a_script_that_is_named_relative_to_nothing_the_user_knows) {
    const auto warned = [](const std::string& settings, const CheckOptions& options = {}) {
        const auto parsed = check_job(R"({"properties": {"nodeCount": 1,
            "stdOutErrPathPrefix": "/o", )" +
                                          settings + "}}",
                                      "j", samples::policy(), options);
        std::string warnings;
        for (const Finding& finding : parsed.findings)
            if (finding.severity == Finding::Severity::warning)
                warnings += finding.path + ": " + finding.message;
        return warnings;
    };
    BOOST_TEST(samples::contains(
        warned(R"("horovodSettings": {"pythonScriptFilePath": "train.py"})"),
        "properties.horovodSettings.pythonScriptFilePath: 'train.py' is looked for in "
        "$AZ_BATCHAI_JOB_TEMP/wd, where the job starts: write $AZ_BATCHAI_JOB_MOUNT_ROOT/"));
    BOOST_TEST(samples::contains(warned(R"("cntkSettings": {"configFilePath": "a/b.cntk"})"),
                                 "cntkSettings.configFilePath: 'a/b.cntk' is looked for in"));
    for (const char* known : {"/train.py", "$AZ_BATCHAI_JOB_TEMP/train.py", "~/train.py", "-m a"})
        BOOST_TEST(warned(R"("horovodSettings": {"pythonScriptFilePath": ")" + std::string(known) +
                          R"("})") == "");
    CheckOptions local;
    local.is_brought = [](const std::string& script) { return script == "train.py"; };
    BOOST_TEST(warned(R"("horovodSettings": {"pythonScriptFilePath": "train.py"})", local) == "");
}

BOOST_AUTO_TEST_CASE(finds_a_script_in_an_input_directory) {
    CheckOptions options;
    options.file_exists = [](const std::string&) { return false; };
    std::string text =
        samples::tutorial_with("$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar/cifar_cnn_distributed.py",
                               "$AZ_BATCHAI_INPUT_CODE/train.py");
    text.replace(text.find("\"jobPreparation\""), 0,
                 "\"inputDirectories\": [{\"id\": \"CODE\", \"path\": "
                 "\"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/code\"}], ");
    BOOST_TEST(
        samples::contains(only_error(text, options), "upload it to /srv/myshare/code/train.py"));
}

BOOST_AUTO_TEST_CASE(refuses_an_output_directory_that_the_site_does_not_allow) {
    for (const char* prefix : {"$AZ_BATCHAI_MOUNT_ROOT/external", "/home/me"}) {
        const std::string error =
            only_error(samples::tutorial_with("\"jobPreparation\": {",
                                              std::string("\"outputDirectories\": [{\"id\": \"A\", "
                                                          "\"pathPrefix\": \"") +
                                                  prefix + "\"}], \"jobPreparation\": {"),
                       {});
        BOOST_TEST(samples::contains(error, "properties.outputDirectories[0].pathPrefix: '" +
                                                std::string(prefix) +
                                                "' is on no volume of this job"));
    }
}

BOOST_AUTO_TEST_CASE(says_what_the_policy_refuses_beside_what_is_wrong_with_the_file) {
    const std::string text = samples::tutorial_with("net/myshare", "net/other");
    const auto at = text.find("\"nodeCount\": 4");
    const auto parsed = check_job(std::string(text).replace(at, 14, "\"nodeCount\": \"4\""),
                                  "job.json", samples::policy(), {});
    BOOST_TEST(!parsed.spec);
    std::string errors;
    for (const Finding& finding : parsed.findings)
        if (finding.severity == Finding::Severity::error) errors += finding.path + "\n";
    BOOST_TEST(errors ==
               "properties.nodeCount\n"
               "properties.mountVolumes.azureFileShares[0].azureFileUrl\n");
}

BOOST_AUTO_TEST_CASE(says_nothing_of_the_policy_about_a_volume_that_is_wrong_itself) {
    const std::string error =
        only_error(samples::tutorial_with("net/myshare", "net/my/../share"), CheckOptions());
    BOOST_TEST(samples::contains(error, "azureFileUrl: 'my/../share' is not a share"));
}

namespace {
struct Mistake {
    std::string text;
    std::string said;
};
std::ostream& operator<<(std::ostream& out, const Mistake& mistake) {
    return out << mistake.said;
}
const Mistake kMistakes[] = {
    {"{\"a\": 1, // x\n}", "j:1:10: a comment: JSON has no comments"},
    {"{ /* x */ }", "j:1:3: a comment: JSON has no comments"},
    {"# x\n{}", "j:1:1: a comment: JSON has no comments"},
    {"{\"a\": \u201cx\u201d}", "j:1:7: \u201c is not a quotation mark of JSON: write \""},
    {"{\u201ca\u201d: 1}", "j:1:2: \u201c is not a quotation mark of JSON: write \""},
    {"{'a': 1}", "j:1:2: ' is not a quotation mark of JSON: write \""},
    {"{\"a\": [1,\n  2,\n]}", "j:2:4: a comma with nothing after it: remove it"},
    {"{\"a\": 1 ,\n}", "j:1:9: a comma with nothing after it: remove it"},
    {std::string("\xff\xfe{\0}\0", 6), "j:1:1: is UTF-16: save it as UTF-8"},
    {std::string("\0{\0}", 4), "j:1:1: is UTF-16: save it as UTF-8"},
    {"{\"a\": \"x\xff\"}", "j:1:9: syntax error while parsing value - invalid string: "}};
}  // namespace

BOOST_DATA_TEST_CASE(names_the_mistakes_that_people_make, boost::unit_test::data::make(kMistakes),
                     mistake) {
    const auto parsed = parse_job(mistake.text, "j");
    BOOST_REQUIRE(parsed.findings.size() == 1u);
    const std::string said = parsed.findings[0].text();
    BOOST_TEST(said.starts_with(mistake.said), said);
    BOOST_TEST(!samples::contains(said, "last read"));
    BOOST_TEST(!samples::contains(said, "\xff"));
}
