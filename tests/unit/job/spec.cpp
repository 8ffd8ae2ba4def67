// SPDX-License-Identifier: Apache-2.0
#include "job/spec.hpp"

#include <boost/test/data/test_case.hpp>

#include "samples.hpp"

using namespace batchai::job;

BOOST_AUTO_TEST_CASE(reads_the_walk_throughs_job) {
    const auto parsed = parse_job(samples::tutorial(), "job.json");
    BOOST_TEST(parsed.findings.empty());
    const JobSpec& spec = parsed.spec.value();
    BOOST_TEST(spec.node_count == 4);
    BOOST_TEST(spec.azure_file_shares.at(0).share == "myshare");
    BOOST_TEST(spec.azure_file_shares.at(0).account.empty());
    BOOST_TEST(spec.image.value() == "tensorflow/tensorflow:1.8.0-gpu");
    BOOST_TEST(tool_type(spec.toolkit) == "horovod");
    BOOST_TEST(std::get<HorovodSettings>(spec.toolkit).arguments ==
               "--dir=$AZ_BATCHAI_JOB_MOUNT_ROOT/myshare/cifar");
}

struct Spoilt {
    const char* from;
    const char* to;
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
    {"\"nodeCount\": 4,", "", "job.json:3:19: properties.nodeCount: required, but not there"},
    {"\"nodeCount\": 4,", "\"nodeCount\": 4 ", "job.json:5:25: syntax error while parsing object"},
    {"\"nodeCount\": 4,", "\"nodeCount\": 4, \"nodeCount\": 2,",
     "job.json:4:25: properties.nodeCount: the key stands here a second time"},
    {"\"pythonScriptFilePath\"", "\"pythonScriptPath\"",
     "properties.horovodSettings.pythonScriptFilePath: required, but not there"},
    {"\"horovodSettings\"", "\"pyTorchSettings\"",
     "properties.pyTorchSettings: batchai does not run this toolkit"},
    {"\"horovodSettings\"", "\"horovodSetting\"", "no toolkit"},
    {"\"relativeMountPath\": \"myshare\"", "\"relativeMountPath\": \"../myshare\"",
     "properties.mountVolumes.azureFileShares[0].relativeMountPath: '../myshare' is not a path"},
    {"\"relativeMountPath\": \"myshare\"", "\"relativeMountPath\": \"/myshare\"",
     "azureFileShares[0].relativeMountPath: '/myshare' is not a path"},
    {"net/myshare", "net/my/../share", "azureFileUrl: 'my/../share' is not a share"},
    {"\"azureFileUrl\": \"https://", "\"azureFileUrl\": \"", "azureFileUrl: expected https://"},
    {"\"azureFileShares\"", "\"fileServers\"", "properties.mountVolumes.fileServers: batchai"},
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
    const auto parsed = parse_job(R"({"properties": {"nodeCount": -1}})", "j");
    BOOST_TEST(parsed.findings.size() == 3u);
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
