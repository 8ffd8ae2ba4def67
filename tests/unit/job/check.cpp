// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"

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
    BOOST_TEST(!has_error(parsed.findings));
    BOOST_REQUIRE(parsed.findings.size() == 2u);  // what the site does differently
    BOOST_TEST(contains(parsed.findings[0].text(),
                        "job.json:19:28: note: properties.jobPreparation.commandLine: "
                        "preparation: this site replaces 'apt update"));
    BOOST_TEST(contains(parsed.findings[1].text(), "this site runs it on the host"));
    BOOST_TEST(parsed.spec.value().volumes[0].account == "mystorageaccount");
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

BOOST_AUTO_TEST_CASE(refuses_an_output_directory_that_the_user_cannot_make) {
    CheckOptions options;
    std::string base, directory;
    options.writable = [&](const std::string& share, const std::string& path) {
        base = share;
        directory = path;
        return batchai::sys::Result<void>(
            batchai::sys::Error{"/srv/myshare/cifar: belongs to alice"});
    };
    BOOST_TEST(contains(only_error(samples::tutorial(), options),
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

BOOST_AUTO_TEST_CASE(warns_of_outputs_that_are_on_no_volume) {
    const auto parsed = check_job(
        samples::tutorial_with("\"stdOutErrPathPrefix\": \"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare",
                               "\"stdOutErrPathPrefix\": \"$AZ_BATCHAI_JOB_MOUNT_ROOT/external"),
        "job.json", samples::policy(), {});
    BOOST_REQUIRE(parsed.spec.has_value());
    BOOST_TEST(contains(parsed.findings.at(0).text(), "external/cifar' is on no volume"));
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
               "in this job: it is replaced by nothing\n");
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
    BOOST_TEST(contains(only_error(text, options), "upload it to /srv/myshare/code/train.py"));
}

BOOST_AUTO_TEST_CASE(refuses_an_output_directory_that_the_site_does_not_allow) {
    for (const char* prefix : {"$AZ_BATCHAI_MOUNT_ROOT/external", "/home/me"}) {
        const std::string error =
            only_error(samples::tutorial_with("\"jobPreparation\": {",
                                              std::string("\"outputDirectories\": [{\"id\": \"A\", "
                                                          "\"pathPrefix\": \"") +
                                                  prefix + "\"}], \"jobPreparation\": {"),
                       {});
        BOOST_TEST(contains(error, "properties.outputDirectories[0].pathPrefix: '" +
                                       std::string(prefix) + "' is on no volume of this job"));
    }
}
