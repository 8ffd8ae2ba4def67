// SPDX-License-Identifier: Apache-2.0
#include "job/spec.hpp"

#include <boost/test/data/test_case.hpp>

#include "job/document.hpp"
#include "job/duration.hpp"
#include "samples.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::job;

BOOST_AUTO_TEST_CASE(reads_the_walk_throughs_job) {
    const auto parsed = parse_job(samples::tutorial(), "job.json");
    BOOST_TEST(parsed.findings.empty());
    const JobSpec& spec = parsed.spec.value();
    BOOST_TEST(spec.node_count == 4);
    BOOST_TEST(spec.volumes.at(0).name == "myshare");
    BOOST_TEST(spec.volumes.at(0).account.empty());
    BOOST_TEST(spec.image.value() == "tensorflow/tensorflow:1.8.0-gpu");
    BOOST_TEST(spec.toolkit.type == "horovod");
    BOOST_TEST(spec.toolkit.arguments == "--dir=$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar");
}

struct Spoilt {
    const char* from;
    std::string to;
    const char* error;
};
std::ostream& operator<<(std::ostream& out, const Spoilt& spoilt) {
    return out << spoilt.error;
}

const Spoilt kSpoilt[] = {
    {"\"nodeCount\": 4", "\"nodeCount\": \"4\"",
     "job.json:4:22: properties.nodeCount: expected an integer, found a string"},
    {"\"nodeCount\": 4", "\"nodeCount\": 0",
     "job.json:4:22: properties.nodeCount: must be from 1 to 100000, is 0"},
    {"\"nodeCount\": 4", "\"nodeCount\": 4.5",
     "job.json:4:22: properties.nodeCount: expected an integer, found a fraction"},
    {"\"nodeCount\": 4", "\"nodeCount\": true",
     "job.json:4:22: properties.nodeCount: expected an integer, found a boolean"},
    {"\"nodeCount\": 4", "\"nodeCount\": 100001",
     "job.json:4:22: properties.nodeCount: must be from 1 to 100000, is 100001"},
    {"\"nodeCount\": 4", "\"nodeCount\": 18446744073709551615",
     "job.json:4:22: properties.nodeCount: must be from 1 to 100000, is 18446744073709551615"},
    {"\"nodeCount\": 4,", "", "job.json:3:19: properties.nodeCount: required, but missing"},
    {"\"nodeCount\": 4,", "\"nodeCount\": null,",
     "job.json:4:22: properties.nodeCount: required, but missing"},
    {"\"nodeCount\": 4", "\"nodeCount\": 99999999999999999999",
     "job.json:4:22: properties.nodeCount: must be from 1 to 100000, is 1e+20"},
    {"\"nodeCount\": 4", "\"nodeCount\": -1e999",
     "job.json:4:22: properties.nodeCount: a number that is too large"},
    {"\"horovodSettings\"", "\"x\": [{\"a\": 1}, {\"b\": [0,2e308 ]}], \"horovodSettings\"",
     "properties.x[1].b[1]: a number that is too large"},
    {"\"stdOutErrPathPrefix\"", "\"stdOutErrPath\"",
     "job.json:3:19: properties.stdOutErrPathPrefix: required, but missing"},
    {"\"properties\"", "\"property\"", "job.json:1:1: properties: required, but missing"},
    {"\"nodeCount\": 4,", "\"nodeCount\": 4, \"node\\u0043ount\": 2,",
     "job.json:4:25: properties.nodeCount: duplicate key"},
    {"\"nodeCount\": 4,",
     "\"x\": {\"a\": {\"b\": [1]}}, \"x\": {\"a\": [{\"c\": 2}]}, \"nodeCount\": 4,",
     "properties.x: duplicate key"},
    {"\"commandLineArgs\"", "\"processCount\": 0, \"commandLineArgs\"",
     "properties.horovodSettings.processCount: must be from 1 to 1000000, is 0"},
    {"\"commandLineArgs\"", "\"pythonInterpreterPath\": [], \"commandLineArgs\"",
     "properties.horovodSettings.pythonInterpreterPath: expected a string, found an array"},
    {"\"commandLineArgs\": \"", "\"commandLineArgs\": \"\\u0000",
     "properties.horovodSettings.commandLineArgs: holds a null character"},
    {"\"horovodSettings\"", "\"customMpiSettings\": {\"commandLine\": \"x\"}, \"horovodSettings\"",
     "properties.customMpiSettings: a job has one toolkit, this is a second one"},
    {"\"jobPreparation\": {", "\"jobPreparation\": {}, \"x\": {",
     "properties.jobPreparation.commandLine: required, but missing"},
    {"\"image\"", "\"images\"",
     "properties.containerSettings.imageSourceRegistry.image: required, but missing"},
    {"\"jobPreparation\": {", "\"inputDirectories\": [{\"id\": \"A\"}], \"jobPreparation\": {",
     "properties.inputDirectories[0].path: required, but missing"},
    {"\"jobPreparation\": {",
     "\"inputDirectories\": [{\"id\": \"A\", \"path\": \"/" + std::string(4095, 'x') +
         "\"}], \"jobPreparation\": {",
     "properties.inputDirectories[0].path: longer than a path can be (4095 bytes)"},
    {"\"jobPreparation\": {",
     "\"inputDirectories\": [{\"id\": \"A-B\", \"path\": \"/x\"}], \"jobPreparation\": {",
     "properties.inputDirectories[0].id: 'A-B' is not a part of a variable's name"},
    {"\"jobPreparation\": {",
     "\"inputDirectories\": [{\"id\": \"A\", \"path\": \"/x\"}, {\"id\": \"A\", \"path\": "
     "\"/y\"}], \"jobPreparation\": {",
     "properties.inputDirectories[1].id: another directory of this job has the id 'A'"},
    {"\"jobPreparation\": {",
     "\"outputDirectories\": [{\"id\": \"A\", \"pathPrefix\": \"x\"}], \"jobPreparation\": {",
     "properties.outputDirectories[0].pathPrefix: 'x' is not an absolute path without '..'"},
    {"\"jobPreparation\": {",
     "\"outputDirectories\": [{\"id\": \"A\", \"pathPrefix\": \"/x\", \"pathSuffix\": "
     "\"a/../../b\"}], \"jobPreparation\": {",
     "properties.outputDirectories[0].pathSuffix: 'a/../../b' is not a path below the job's"},
    {"\"jobPreparation\": {",
     "\"outputDirectories\": [{\"id\": \"A\", \"pathPrefix\": \"/x\", \"createNew\": \"no\"}], "
     "\"jobPreparation\": {",
     "properties.outputDirectories[0].createNew: expected true or false, found a string"},
    {"\"jobPreparation\": {",
     "\"environmentVariables\": [{\"name\": \"AZ_BATCHAI_JOB_TEMP\", \"value\": \"/x\"}], "
     "\"jobPreparation\": {",
     "properties.environmentVariables[0].name: 'AZ_BATCHAI_JOB_TEMP' is set by batchai"},
    {"\"jobPreparation\": {", "\"environmentVariables\": [3], \"jobPreparation\": {",
     "properties.environmentVariables[0]: expected an object, found a number"},
    {"\"azureFileShares\": [",
     "\"azureFileShares\": [{\"azureFileUrl\": \"https://a/b\", "
     "\"relativeMountPath\": \"myshare/inner\"},",
     "azureFileShares[1].relativeMountPath: another volume of this job is mounted at"},
    {"\"relativeMountPath\": \"myshare\"", "\"relativeMountPath\": \"my\\nshare\"",
     "azureFileShares[0].relativeMountPath: 'my\\nshare' is not a path"},
    {"\"relativeMountPath\": \"myshare\"", "\"relativeMountPath\": \"a//b\"",
     "azureFileShares[0].relativeMountPath: 'a//b' is not a path"},
    {"net/myshare", "net/", "azureFileUrl: expected https://"},
    {"net/myshare", "net//myshare", "azureFileUrl: '/myshare' is not a share"},
    {"\"nodeCount\": 4,", "\"nodeCount\": 4 ", "job.json:5:25: syntax error while parsing object"},
    {"\"nodeCount\": 4,", "\"nodeCount\": 4, \"nodeCount\": 2,",
     "job.json:4:25: properties.nodeCount: duplicate key"},
    {"\"pythonScriptFilePath\"", "\"pythonScriptPath\"",
     "properties.horovodSettings.pythonScriptFilePath: required, but missing"},
    {"\"horovodSettings\"", "\"horovodSetting\"",
     "job.json:3:19: properties: no toolkit; batchai runs horovodSettings, customMpiSettings, "
     "customToolkitSettings, tensorFlowSettings, pyTorchSettings, cntkSettings, chainerSettings, "
     "caffeSettings, caffe2Settings\n"},
    {"\"relativeMountPath\": \"myshare\"", "\"relativeMountPath\": \"../myshare\"",
     "properties.mountVolumes.azureFileShares[0].relativeMountPath: '../myshare' is not a path"},
    {"\"relativeMountPath\": \"myshare\"", "\"relativeMountPath\": \"/myshare\"",
     "azureFileShares[0].relativeMountPath: '/myshare' is not a path"},
    {"net/myshare", "net/my/../share", "azureFileUrl: 'my/../share' is not a share"},
    {"\"azureFileUrl\": \"https://", "\"azureFileUrl\": \"", "azureFileUrl: expected https://"},
    {"\"azureFileShares\"", "\"fileServers\"",
     "properties.mountVolumes.fileServers[0].fileServer: required, but missing"},
    {"\"imageSourceRegistry\": {", "\"imageSourceRegistry\": 3, \"x\": {",
     "properties.containerSettings.imageSourceRegistry: expected an object, found a number"},
    {"\"jobPreparation\": {",
     "\"secrets\": [{\"name\": \"1x\", \"value\": \"\"}], "
     "\"jobPreparation\": {",
     "properties.secrets[0].name: '1x' is not a name of a variable"},
};

BOOST_DATA_TEST_CASE(points_at_what_is_wrong, boost::unit_test::data::make(kSpoilt), spoilt) {
    const auto parsed = parse_job(samples::tutorial_with(spoilt.from, spoilt.to), "job.json");
    BOOST_TEST(!parsed.spec);
    std::string all;
    for (const Finding& finding : parsed.findings) all += finding.text() + "\n";
    BOOST_TEST_CONTEXT(all) BOOST_TEST((all.find(spoilt.error) != all.npos));
}

BOOST_AUTO_TEST_CASE(refuses_an_output_path_that_is_no_absolute_path) {
    const auto errors_of = [](const std::string& prefix) {
        const auto parsed =
            parse_job(samples::tutorial_with(
                          "\"stdOutErrPathPrefix\": \"$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar",
                          "\"stdOutErrPathPrefix\": \"" + prefix),
                      "job.json");
        return parsed.findings.empty() ? "" : parsed.findings[0].text();
    };
    for (const char* good : {"/data/out", "/data//out/", "${AZ_BATCHAI_JOB_MOUNT_ROOT}/a b",
                             "$AZ_BATCHAI_MOUNT_ROOT", "$AZ_BATCHAI_JOB_TEMP/./x",
                             "${AZ_BATCHAI_SHARED_JOB_TEMP}/", "$AZ_LEARNING_MOUNT_ROOT/x"})
        BOOST_TEST(errors_of(good) == "", good);
    for (const char* bad :
         {"out", "./out", "/", "../out", "/data/../etc", "$AZ_BATCHAI_JOB_MOUNT_ROOT/../etc",
          "$AZ_BATCHAI_JOB_MOUNT_ROOTS/x", "$AZ_BATCHAI_OUTPUT_MODEL/x", "$HOME/x", "/data/$USER",
          "x$AZ_BATCHAI_JOB_MOUNT_ROOT/y", "/data/a\\nb", "/data/\\u007f", "~/x"})
        BOOST_TEST(errors_of(bad).find("job.json:9:32: properties.stdOutErrPathPrefix: '") == 0u,
                   bad << " gave " << errors_of(bad));
    BOOST_TEST(errors_of("\", \"comment\": \"") ==
               "job.json:9:32: properties.stdOutErrPathPrefix: is empty");
}

BOOST_AUTO_TEST_CASE(refuses_variables_that_would_keep_a_job_from_starting) {
    const auto errors_of = [](const std::string& name, const std::string& value) {
        const auto parsed = parse_job(
            samples::tutorial_with("\"horovodSettings\"",
                                   "\"environmentVariables\": [{\"name\": \"" + name +
                                       "\", \"value\": \"" + value + "\"}], \"horovodSettings\""),
            "job.json");
        std::string text;
        for (const Finding& finding : parsed.findings) text += finding.text() + "\n";
        return text;
    };
    BOOST_TEST(errors_of("LD_LIBRARY_PATH", "/opt/lib") == "");
    BOOST_TEST(errors_of("SLURMS", std::string(65'000, 'x')) == "");
    BOOST_TEST(errors_of("BIG", std::string(131'072, 'x'))
                   .find("environmentVariables[0].value: longer than 64 KiB") != std::string::npos);
    for (const char* name :
         {"SLURM_JOB_ID", "SRUN_DEBUG", "SBATCH_EXPORT", "PMIX_RANK", "PMI_RANK"})
        BOOST_TEST(errors_of(name, "1").find("environmentVariables[0].name: '" + std::string(name) +
                                             "' is set by Slurm or PMIx: a job cannot set it\n") !=
                   std::string::npos);
}

BOOST_AUTO_TEST_CASE(warns_of_unknown_keys_and_suggests_known_ones) {
    const auto parsed = parse_job(
        samples::tutorial_with("\"nodeCount\": 4,", "\"nodeCount\": 4, \"jobPreperation\": 1,"),
        "job.json");
    BOOST_REQUIRE(parsed.spec.has_value());
    BOOST_TEST(parsed.findings.at(0).text() ==
               "job.json:4:43: warning: properties.jobPreperation: unknown key, ignored; did you "
               "mean 'jobPreparation'?");
}

BOOST_AUTO_TEST_CASE(reports_every_error_of_a_file) {
    const auto parsed = parse_job(R"({"properties":
        {"mountVolumes": {"azureFileShares": [{"azureFileUrl": 1}]}, "nodeCount": -1}})",
                                  "j");
    std::string all;
    for (const Finding& finding : parsed.findings) all += finding.text() + "\n";
    BOOST_TEST(all ==
               "j:2:9: properties.stdOutErrPathPrefix: required, but missing\n"
               "j:2:9: properties: no toolkit; batchai runs horovodSettings, customMpiSettings, "
               "customToolkitSettings, tensorFlowSettings, pyTorchSettings, cntkSettings, "
               "chainerSettings, caffeSettings, caffe2Settings\n"
               "j:2:47: properties.mountVolumes.azureFileShares[0].relativeMountPath: required, "
               "but missing\n"
               "j:2:64: properties.mountVolumes.azureFileShares[0].azureFileUrl: expected a "
               "string, found a number\n"
               "j:2:83: properties.nodeCount: must be from 1 to 100000, is -1\n");
}

BOOST_AUTO_TEST_CASE(reads_what_the_other_recipes_use) {
    const std::string text = R"({
        "comment": "as Microsoft's own files have them",
        "location": "eastus",
        "properties": {
            "nodeCount": 2,
            "$comment": {"nodeCount": "no count"},
            "cluster": {"id": "/subscriptions/x"},
            "experimentName": "e", "priority": 0, "toolType": "custommpi",
            "stdOutErrPathPrefix": "$AZ_LEARNING_MOUNT_ROOT/out",
            "horovodSettings": null,
            "customMpiSettings": {
                "commandLine": "python ${AZ_LEARNING_JOB_TEMP}/a.py AZ_LEARNING_ $oauthtoken",
                "processCount": 8
            },
            "mountVolumes": {"azureBlobFileSystems": [], "fileServers": null, "azureFileShares": [{
                "accountName": "<AZURE_BATCHAI_STORAGE_ACCOUNT>",
                "azureFileUrl": "https://acct.file.core.windows.net/batchshare/some logs/",
                "credentials": {"accountKey": "secret"},
                "fileMode": "0777",
                "relativeMountPath": "external/data"
            }]},
            "environmentVariables": [
                {"name": "B", "value": "$AZ_BATCHAI_JOB_TEMP/t"}, {"name": "A"}],
            "secrets": [{"name": "TOKEN", "value": "hush"}],
            "a.b": 1, "a": {"b": 2}
        }})";
    const auto parsed = parse_job(text, "j");
    std::string ignored;
    for (const Finding& finding : parsed.findings) {
        BOOST_TEST(finding.severity != Finding::Severity::error, finding.text());
        ignored += finding.path + " ";
    }
    // Nothing without effect is accepted in silence.
    BOOST_TEST(ignored ==
               "location properties.experimentName properties.priority "
               "properties.toolType properties.a properties.a.b ");
    const JobSpec& spec = parsed.spec.value();
    BOOST_TEST(spec.std_out_err_path_prefix == "$AZ_BATCHAI_MOUNT_ROOT/out");
    BOOST_TEST(spec.toolkit.type == "custommpi");
    const ToolkitSettings& mpi = spec.toolkit;
    BOOST_TEST(mpi.command_line == "python ${AZ_BATCHAI_JOB_TEMP}/a.py AZ_LEARNING_ $oauthtoken");
    BOOST_TEST(mpi.process_count.value() == 8);
    BOOST_TEST(spec.volumes.at(0).account == "acct");
    BOOST_TEST(spec.volumes[0].directory == "some logs");
    BOOST_TEST(spec.volumes[0].relative_mount_path == "external/data");
    BOOST_TEST(spec.environment.at(0).name == "B");
    BOOST_TEST(spec.environment.at(1).value.empty());
    BOOST_TEST(spec.secrets.at(0).value == "hush");
    BOOST_TEST(spec.cluster == "x");
    BOOST_TEST(!spec.image);
    BOOST_TEST(!spec.preparation_command);
}

BOOST_AUTO_TEST_CASE(a_large_or_strange_file_costs_little) {
    // A long key above many values: places are kept for values, not for paths.
    std::string many = "{\"" + std::string(1 << 19, 'k') + "\": [";
    for (int i = 0; i < 200'000; ++i) many += "0,";
    BOOST_TEST(parse_job(many + "0]}", "j").findings.size() == 2u);
    const auto unended = parse_job("{\"" + std::string(1 << 19, 'k'), "j");
    BOOST_TEST(unended.findings.at(0).text().size() < 300u);
    const auto larger = parse_job(std::string((1 << 20) + 1, ' '), "j");
    BOOST_TEST(larger.findings.at(0).text() == "j:1:1: larger than 1 MiB");
}

BOOST_AUTO_TEST_CASE(an_object_of_too_many_keys_is_refused_where_they_begin_to_be_too_many) {
    std::string text = "{\"properties\": {";
    for (int i = 0; i < 60'000; ++i) text += "\n\"key" + std::to_string(i) + "\": 1,";
    const auto parsed = parse_job(text + "\"x\": 1}}", "j");
    BOOST_REQUIRE_EQUAL(parsed.findings.size(), 1u);
    BOOST_TEST(parsed.findings[0].text() ==
               "j:1026:1: properties: more than 1024 keys in one object");
}

BOOST_AUTO_TEST_CASE(survives_any_prefix_and_any_changed_byte) {
    const std::string text = samples::tutorial();
    for (std::size_t i = 0; i < text.size(); i += 3) {
        (void)parse_job(text.substr(0, i), "j");
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 0x15);
        (void)parse_job(changed, "j");
    }
    BOOST_TEST(!parse_job(std::string(200'000, '['), "j").spec);
    BOOST_TEST(
        !parse_job("{\"a\": " + std::string(100, '[') + std::string(100, ']') + "}", "j").spec);
    BOOST_TEST(!parse_job("\xEF\xBB\xBF{}", "j").spec);
    BOOST_TEST(!parse_job("[1]", "j").spec);
}

BOOST_AUTO_TEST_CASE(refuses_an_identity_that_would_leave_the_output_path) {
    std::string text = samples::tutorial();
    text.insert(1, R"("batchai": {"subscription": "s", "resourceGroup": "..", "workspace": "a/b",
                  "experiment": "e", "name": "n", "uuid": "u"},)");
    BOOST_TEST(!parse_job(text, "j").spec);
}

BOOST_AUTO_TEST_CASE(reads_durations_of_iso_and_of_dot_net) {
    const std::pair<const char*, long> good[] = {
        {"PT1.5H", 5400},      {"P0.5D", 43200},   {"PT0,25H30S", 930},   {"PT1.9S", 1},
        {"PT1H", 3600},        {"P7D", 604800},    {"P1DT2H3M4S", 93784}, {"PT90M", 5400},
        {"PT1.5S", 1},         {"P1W", 604800},    {"00:30:00", 1800},    {"7.00:00:00", 604800},
        {"1.02:03:04", 93784}, {"00:00:01.500", 1}};
    for (const auto& [text, seconds] : good)
        BOOST_TEST(parse_duration(text).value_or(0) == seconds, text);
    for (const char* bad : {"",         "P",
                            "PT",       "P1",
                            "1H",       "PT1H30",
                            "P1M",      "P1Y",
                            "PT1M1H",   "-PT1H",
                            "PT0S",     "00:00:00",
                            "24:00:00", "1:60:00",
                            "30:00",    "1.5",
                            "P9999D",   "PT9999999999S",
                            "PT1H ",    "7 days, 0:00:00"})
        BOOST_TEST(!parse_duration(bad), bad);
    BOOST_TEST(slurm_time(93784) == "1-02:03:04");
}

BOOST_AUTO_TEST_CASE(a_time_limit_is_a_duration_or_an_error) {
    const auto with = [](const std::string& limit) {
        return parse_job(samples::tutorial_with("\"nodeCount\": 4,",
                                                "\"nodeCount\": 4, \"constraints\": "
                                                "{\"maxWallClockTime\": \"" +
                                                    limit + "\"},"),
                         "job.json");
    };
    BOOST_TEST(with("PT2H").spec.value().time_limit.value() == 7200);
    BOOST_TEST(
        with("2 hours").findings.at(0).text() ==
        "job.json:4:61: properties.constraints.maxWallClockTime: '2 hours' is not a duration "
        "of 1 second to 366 days such as PT1H30M, P7D or 7.00:00:00");
}

BOOST_AUTO_TEST_CASE(a_value_that_is_added_to_a_document_has_no_place_in_the_file) {
    const std::string volume = R"("azureFileUrl": "https://a.file.core.windows.net/s")";
    auto parsed = parse_job(R"({"properties": {"nodeCount": 1, "stdOutErrPathPrefix": "/o",
        "customToolkitSettings": {"commandLine": "true"},
        "mountVolumes": {"azureFileShares": [{)" +
                                volume + R"(, "relativeMountPath": "own"}]}}})",
                            "j");
    Json& shares = parsed.document->root()["properties"]["mountVolumes"]["azureFileShares"];
    shares.push_back(Json::parse("{" + volume + "}"));
    parsed.document->root()["properties"]["nodeCount"] = "one";
    parsed = parse_job(parsed.document);
    BOOST_REQUIRE(parsed.findings.size() == 2U);
    BOOST_TEST(parsed.findings[0].text() ==
               "j: properties.mountVolumes.azureFileShares[1].relativeMountPath: "
               "required, but missing");
    BOOST_TEST(parsed.findings[1].text() ==
               "j:1:30: properties.nodeCount: expected an integer, found a string");
}
