// SPDX-License-Identifier: Apache-2.0
// Scripts, command lines and values that lead to nothing: check_job finds them before submission.
#include <boost/test/data/test_case.hpp>

#include "job/check.hpp"
#include "job/check_texts.hpp"
#include "samples.hpp"

using namespace batchai::job;

namespace {

// The findings, "error: ..." or "warning: ..." each, of a job with the share at "s" and an input
// SCRIPTS, without the path of the toolkit's settings.
std::string found(const std::string& settings, const CheckOptions& options = {},
                  const std::string& more = "") {
    const std::string text = R"({"properties": {"nodeCount": 2, "stdOutErrPathPrefix": "/o",
        "mountVolumes": {"azureFileShares": [{"relativeMountPath": "s",
            "azureFileUrl": "https://a.file.core.windows.net/myshare"}]},
        "inputDirectories": [{"id": "SCRIPTS", "path": "$AZ_BATCHAI_JOB_MOUNT_ROOT/s/code"},
            {"id": "D", "path": "/d"}],
        "outputDirectories": [{"id": "MODEL", "pathPrefix": "$AZ_BATCHAI_JOB_MOUNT_ROOT/s"}],
        )" + more + settings +
                             "}}";
    std::string lines;
    for (const Finding& finding : check_job(text, "j", samples::policy(), options).findings)
        lines += (finding.severity == Finding::Severity::error ? "error: " : "warning: ") +
                 finding.path.substr(finding.path.rfind('.') + 1) + ": " + finding.message + "\n";
    return lines;
}

std::string command(const std::string& line, const std::string& more = "") {
    return found(R"("customToolkitSettings": {"commandLine": ")" + line + R"("})", {}, more);
}

std::string script(const std::string& path, const CheckOptions& options = {}) {
    return found(R"("horovodSettings": {"pythonScriptFilePath": ")" + path + R"("})", options);
}

// A login node without these paths.
CheckOptions without(const std::string& prefix) {
    CheckOptions options;
    options.is_missing = [prefix](const std::string& path) { return path.starts_with(prefix); };
    return options;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_script_below_a_volume_that_nothing_mounts_is_refused) {
    const std::string no =
        " is on no volume of this job: mount one there with mountVolumes, or "
        "ask the site's admin for a [[cluster_volume]]\n";
    BOOST_TEST(script("$AZ_BATCHAI_JOB_MOUNT_ROOT/scripts/a.py") ==
               "error: pythonScriptFilePath: '$AZ_BATCHAI_JOB_MOUNT_ROOT/scripts/a.py'" + no);
    BOOST_TEST(
        found(R"("cntkSettings": {"configFilePath": "${AZ_BATCHAI_MOUNT_ROOT}/c/x.cntk"})") ==
        "error: configFilePath: '${AZ_BATCHAI_MOUNT_ROOT}/c/x.cntk'" + no);
    for (const char* there : {"$AZ_BATCHAI_JOB_MOUNT_ROOT/s/a.py", "$AZ_BATCHAI_INPUT_SCRIPTS/a.py",
                              "$AZ_BATCHAI_JOB_TEMP/a.py", "$AZ_BATCHAI_JOB_MOUNT_ROOT/.temp/a.py"})
        BOOST_TEST(script(there) == "");
    CheckOptions options;
    options.mounted = {"scripts"};  // by --batchai-mount
    BOOST_TEST(script("$AZ_BATCHAI_JOB_MOUNT_ROOT/scripts/a.py", options) == "");
}

BOOST_AUTO_TEST_CASE(what_a_site_may_have_is_not_refused) {
    // Its mount root has the service's name.
    SitePolicy policy = samples::policy();
    policy.mount_root = "/mnt/batch/tasks/shared/LS_root/mounts";
    const auto parsed = check_job(R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
        "horovodSettings": {"pythonScriptFilePath": "/mnt/batch/tasks/shared/LS_root/mounts/x/a.py"}}})",
                                  "j", policy, without("/mnt/batch"));
    BOOST_TEST(parsed.spec.has_value());
    // The only process of a job may start others.
    BOOST_TEST(check_job(R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
        "customMpiSettings": {"commandLine": "mpirun -np 4 a.out", "processCount": 1}}})",
                         "j", samples::policy(), {})
                   .spec.has_value());
    BOOST_TEST(!starts_ranks("mpirun-env.sh"));
    // Numbered directories are not misspelt, and a script may set a variable.
    BOOST_TEST(!samples::contains(
        command(
            "ls $AZ_BATCHAI_INPUT_DATASET4",
            R"("environmentVariables": [{"name": "AZ_BATCHAI_INPUT_DATASET1", "value": "/"}],)"),
        "did you mean"));
    BOOST_TEST(command("read AZ_BATCHAI_INPUT_SCRIPT; ls $AZ_BATCHAI_INPUT_SCRIPT") == "");
}

BOOST_AUTO_TEST_CASE(a_script_in_an_input_directory_on_no_volume_is_refused) {
    const std::string said =
        found(R"("caffe2Settings": {"pythonScriptFilePath": "$AZ_BATCHAI_INPUT_X1/a.py"})", {},
              R"("$comment": "", "cluster": null, )");
    BOOST_TEST(samples::contains(said,
                                 "error: pythonScriptFilePath: $AZ_BATCHAI_INPUT_X1 is not "
                                 "set in this job: '$AZ_BATCHAI_INPUT_X1/a.py' leads to no "
                                 "file\n"));
    const auto parsed = check_job(R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
        "inputDirectories": [{"id": "CODE", "path": "$AZ_BATCHAI_MOUNT_ROOT/external/code"}],
        "horovodSettings": {"pythonScriptFilePath": "$AZ_BATCHAI_INPUT_CODE/a.py"}}})",
                                  "j", samples::policy(), {});
    BOOST_REQUIRE(parsed.findings.size() == 2u);  // and the warning of the input
    BOOST_TEST(samples::contains(parsed.findings[1].text(),
                                 "'$AZ_BATCHAI_MOUNT_ROOT/external/code/a.py' is on no volume"));
}

BOOST_AUTO_TEST_CASE(a_command_with_a_path_on_no_volume_is_warned_of_once) {
    BOOST_TEST(command("python $AZ_BATCHAI_JOB_MOUNT_ROOT/x/a.py $AZ_BATCHAI_JOB_MOUNT_ROOT/x/a.py "
                       "--data=$AZ_BATCHAI_JOB_MOUNT_ROOT/s/d") ==
               "warning: commandLine: '$AZ_BATCHAI_JOB_MOUNT_ROOT/x/a.py' is on no volume of this "
               "job: the job will not find it\n");
    for (const char* fine :
         {"ls $AZ_BATCHAI_JOB_MOUNT_ROOT", "ls $AZ_BATCHAI_JOB_MOUNT_ROOT/",
          "ls $AZ_BATCHAI_JOB_MOUNT_ROOT/*", "a:$AZ_BATCHAI_JOB_MOUNT_ROOT/s:b",
          "ls $AZ_BATCHAI_JOB_MOUNT_ROOT/$X", "ls $AZ_BATCHAI_JOB_MOUNT_ROOT/../x"})
        BOOST_TEST(command(fine) == "", fine);
    BOOST_TEST(samples::contains(command("ls $AZ_BATCHAI_JOB_MOUNT_ROOT/t*"), "MOUNT_ROOT/t'"));
    BOOST_TEST(samples::contains(
        command("true",
                R"("jobPreparation": {"commandLine": "cp $AZ_BATCHAI_MOUNT_ROOT/e/x ."}, )"),
        "warning: commandLine: '$AZ_BATCHAI_MOUNT_ROOT/e/x' is on no volume"));
}

BOOST_AUTO_TEST_CASE(a_misspelt_variable_is_refused_and_the_right_one_named) {
    BOOST_TEST(script("$AZ_BATCHAI_INPUT_SCRIPT/a.py") ==
               "error: pythonScriptFilePath: $AZ_BATCHAI_INPUT_SCRIPT is not set in this job: did "
               "you mean $AZ_BATCHAI_INPUT_SCRIPTS?\n");
    for (const auto& [line, meant] :
         {std::pair{"a $AZ_BATCHAI_OUTPUT_MODEL1", "$AZ_BATCHAI_OUTPUT_MODEL"},
          {"a ${AZ_BATCHAI_INPUT_scripts}/b", "$AZ_BATCHAI_INPUT_SCRIPTS"},
          {"a $AZ_BATCHAI_JOBMOUNT_ROOT/a", "$AZ_BATCHAI_JOB_MOUNT_ROOT"}})
        BOOST_TEST(samples::contains(command(line), "did you mean " + std::string(meant) + "?"));
}

BOOST_AUTO_TEST_CASE(a_key_without_effect_is_refused_for_no_text) {
    const std::string said = found(R"("cntkSettings": {"configFilePath": "/x.cntk",
        "pythonScriptFilePath": "$AZ_BATCHAI_MOUNT_ROOT/none/a.py",
        "languageType": "BrainScript", "workerArgs": "$AZ_BATCHAI_INPUT_SCRIPT 'a"})");
    BOOST_TEST(!samples::contains(said, "error: "), said);
    BOOST_TEST(
        samples::contains(said, "$AZ_BATCHAI_INPUT_SCRIPT is not set in this job: an empty"));
}

// As in the service.
BOOST_AUTO_TEST_CASE(a_variable_that_is_like_no_other_is_empty_and_warned_of) {
    for (const char* name : {"$AZ_BATCHAI_INPUT_DATASET", "$AZ_BATCHAI_INPUT_E",
                             "$AZ_BATCHAI_OUTPUT_NODES"})  // two edits from MODEL
        BOOST_TEST(command("a " + std::string(name)) ==
                   "warning: commandLine: " + std::string(name) +
                       " is not set in this job: an empty string replaces it\n");
    // The command, or the preparation, sets it.
    BOOST_TEST(command("AZ_BATCHAI_X=1; a $AZ_BATCHAI_X") == "");
    BOOST_TEST(command("a $AZ_BATCHAI_INPUT_SCRIPT",
                       R"("jobPreparation": {"commandLine":
            "echo export AZ_BATCHAI_INPUT_SCRIPT=/x >>~/.bashrc"}, )") == "");
}

BOOST_AUTO_TEST_CASE(a_path_of_the_services_nodes_is_named_with_its_place_here) {
    const auto options = without("/mnt/batch/tasks");
    BOOST_TEST(
        script("/mnt/batch/tasks/shared/LS_root/mounts/external/a.py", options) ==
        "error: pythonScriptFilePath: '/mnt/batch/tasks/shared/LS_root/mounts/external/a.py' "
        "is a path of the service's nodes: write $AZ_BATCHAI_MOUNT_ROOT/external/a.py\n");
    BOOST_TEST(script("/mnt/batch/tasks/shared/LS_root/mounts/external/a.py") == "");
    BOOST_TEST(script("/mnt/batch/tasks/a.py", without("/nothing")) == "");  // the site has it
    const auto prefix =
        check_job(samples::tutorial_with(
                      "\"stdOutErrPathPrefix\": \"$AZ_BATCHAI_JOB_MOUNT_ROOT/",
                      "\"stdOutErrPathPrefix\": \"/mnt/batch/tasks/shared/LS_root/mounts/"),
                  "j", samples::policy(), options);
    BOOST_TEST(!prefix.spec);
    BOOST_TEST(samples::contains(
        found(
            R"("customToolkitSettings": {"commandLine": "a 'b=/mnt/batch/tasks/shared/LS_root/jobs/w/e/j/mounts/s/c'"})",
            options),
        "warning: commandLine: '/mnt/batch/tasks/shared/LS_root/jobs/w/e/j/mounts/s/c' is a path "
        "of "
        "the service's nodes: write $AZ_BATCHAI_JOB_MOUNT_ROOT/s/c\n"));
}

BOOST_AUTO_TEST_CASE(processes_that_batchai_starts_do_not_start_mpirun_again) {
    const auto mpi = [](const std::string& line) {
        return found(R"("customMpiSettings": {"commandLine": ")" + line + R"("})");
    };
    BOOST_TEST(mpi("mpirun -np 2 python x.py") ==
               "error: commandLine: each of the job's processes would run mpirun: leave 'mpirun' "
               "and its options out and set processCount, or use customToolkitSettings, which runs "
               "a command once\n");
    for (const char* line :
         {"cd /x && A=1 /opt/bin/mpirun a", "source v.sh; mpiexec.hydra a", "exec srun -n2 a"})
        BOOST_TEST(samples::contains(mpi(line), "each of the job's processes would run"), line);
    BOOST_TEST(samples::contains(found(R"("horovodSettings": {"pythonScriptFilePath": "~/a.py",
            "pythonInterpreterPath": "mpirun -n 4 python"})"),
                                 "error: pythonInterpreterPath: each of"));
    for (const char* line : {"python mpirun", "echo \\\"; mpirun\\\"", "./mpi_run", "python x.py"})
        BOOST_TEST(mpi(line) == "", line);
    BOOST_TEST(command("mpirun -np 2 a") == "");
}

BOOST_AUTO_TEST_CASE(a_command_that_ends_inside_quotes_is_refused) {
    BOOST_TEST(command("echo 'unterminated") ==
               "error: commandLine: ends inside quotes: the shell refuses it\n");
    for (const char* fine :
         {"echo it\\\\'s", "echo \\\"it's\\\"", "true # it's", "cat <<E\\nit's\\nE",
          "echo $'it\\\\'s'", "echo \\\"$(echo \\\"'\\\")\\\"", "a 'b' \\\"c\\\""})
        BOOST_TEST(command(fine) == "", fine);
}

BOOST_AUTO_TEST_CASE(warns_of_a_program_that_only_the_nodes_may_have) {
    const auto options = without("/opt/nope");
    const std::string settings = R"("horovodSettings": {"pythonScriptFilePath": "/d/a.py",
        "pythonInterpreterPath": "/opt/nope/python"})";
    BOOST_TEST(found(settings, options) ==
               "warning: pythonInterpreterPath: '/opt/nope/python' is not on this machine: the job "
               "finds it only if it is on the job's nodes\n");
    BOOST_TEST(found(settings, options, R"("jobPreparation": {"commandLine": "install"}, )") == "");
}

BOOST_AUTO_TEST_CASE(warns_of_values_that_no_one_expands) {
    const auto value = [](const std::string& name, const std::string& text) {
        return found(R"("customToolkitSettings": {"commandLine": "a"})", {},
                     R"("environmentVariables": [{"name": ")" + name + R"(", "value": ")" + text +
                         R"("}], )");
    };
    BOOST_TEST(value("LD_LIBRARY_PATH", "/x:$LD_LIBRARY_PATH") ==
               "warning: value: '$LD_LIBRARY_PATH' stays as it is: only $AZ_BATCHAI_ variables are "
               "replaced here\n");
    BOOST_TEST(samples::contains(value("PATH", "/x"), "'/x' replaces the job's PATH"));
    BOOST_TEST(value("PATH", "/x:/usr/bin") == "");
    BOOST_TEST(value("A", "$AZ_BATCHAI_OUTPUT_MODEL/t costs 5$") == "");
    BOOST_TEST(value("A", "$oauthtoken Pa$Sw0rd") == "");
}

BOOST_AUTO_TEST_CASE(warns_of_parameter_servers_that_share_a_node) {
    const auto servers = [](const std::string& count) {
        return found(R"("tensorFlowSettings": {"pythonScriptFilePath": "/a.py",
            "parameterServerCount": )" +
                     count + "}");
    };
    BOOST_TEST(servers("2") == "");
    BOOST_TEST(servers("3") ==
               "warning: parameterServerCount: 3 parameter servers on 2 nodes: several share a "
               "node, which the service did not allow\n");
}

namespace {
struct Wrong {
    std::string from, to, said;
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
    return out << wrong.said;
}
const Wrong kWrong[] = {
    {"file.core.windows.net/myshare", "blob.core.windows.net/myshare",
     "azureFileUrl: '<AZURE_BATCHAI_STORAGE_ACCOUNT>.blob.core.windows.net' has no file shares"},
    {"https://<AZURE_BATCHAI_STORAGE_ACCOUNT>",
     "https://acct.dfs.core.chinacloudapi.cn/x\", \"a\": \"",
     "'acct.dfs.core.chinacloudapi.cn' has no file shares"},
    {"\"jobPreparation\"", "\"secrets\": [{\"name\": \"S\"}], \"jobPreparation\"",
     "secrets[0].value: required, but missing"},
    {"\"jobPreparation\"",
     "\"outputDirectories\": [{\"id\": \"stdouterr\", \"pathPrefix\": "
     "\"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare\"}], \"jobPreparation\"",
     "outputDirectories[0].id: 'stdouterr' is the id of the job's standard output"}};
}  // namespace

BOOST_DATA_TEST_CASE(refuses_keys_that_cannot_work, boost::unit_test::data::make(kWrong), wrong) {
    const auto parsed = parse_job(samples::tutorial_with(wrong.from, wrong.to), "j");
    BOOST_TEST(!parsed.spec);
    BOOST_REQUIRE(!parsed.findings.empty());
    BOOST_TEST(samples::contains(parsed.findings.front().text(), wrong.said),
               parsed.findings.front().text());
}

BOOST_AUTO_TEST_CASE(an_account_is_that_of_the_url) {
    const auto job = [](const std::string& host, const std::string& account) {
        return parse_job(R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
            "mountVolumes": {"azureFileShares": [{"azureFileUrl": "https://)" +
                             host + R"(.file.core.windows.net/s", "accountName": ")" + account +
                             R"(", "relativeMountPath": "s"}]},
            "customToolkitSettings": {"commandLine": "true"}}})",
                         "j");
    };
    const std::string placeholder = "<AZURE_BATCHAI_STORAGE_ACCOUNT>";
    const auto refused = job("acct", "other");
    BOOST_REQUIRE(refused.findings.size() == 1u);
    BOOST_TEST(refused.spec.has_value());  // a site's SMB server may have a user of that name
    BOOST_TEST(samples::contains(refused.findings[0].text(),
                                 "accountName: is 'other', but azureFileUrl is of the account "
                                 "'acct'"));
    for (const auto& [host, account] : {std::pair<std::string, std::string>{"acct", "acct"},
                                        {"ACCT", "acct"},
                                        {placeholder, "acct"},
                                        {"acct", placeholder},
                                        {placeholder, placeholder}})
        BOOST_TEST(job(host, account).spec.has_value());
}
