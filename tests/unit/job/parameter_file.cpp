// SPDX-License-Identifier: Apache-2.0
#include "job/parameter_file.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace batchai::job;

namespace {

struct Case {
    const char* text;
    const char* finding;  // a part of the only finding; "": there is none
};
std::ostream& operator<<(std::ostream& out, const Case& sample) {
    return out << sample.text;
}

const Case kClusters[] = {
    {R"({"properties": {"vmSize": "STANDARD_NC6", "vmPriority": "dedicated",
        "scaleSettings": {"manual": {"targetNodeCount": 2, "nodeDeallocationOption": "requeue"}},
        "virtualMachineConfiguration": {"imageReference": {"publisher": "p", "offer": "o",
            "sku": "s", "version": "latest", "virtualMachineImageId": null}},
        "nodeSetup": {"setupTask": {"commandLine": "true", "runElevated": false,
                "environmentVariables": [{"name": "A", "value": "b"}],
                "secrets": [{"name": "S", "value": "t"}], "stdOutErrPathPrefix": "/out"},
            "mountVolumes": {"azureFileShares": [{
                "accountName": "<AZURE_BATCHAI_STORAGE_ACCOUNT>",
                "azureFileUrl": "https://<AZURE_BATCHAI_STORAGE_ACCOUNT>.file.core.windows.net/s",
                "relativeMountPath": "external",
                "credentials": {"accountKey": "<AZURE_BATCHAI_STORAGE_KEY>"}}]},
            "performanceCountersSettings": {"appInsightsReference": {"component": {"id": "x"}}}},
        "userAccountSettings": {"adminUserName": "me", "adminUserPassword": "p"},
        "subnet": {"id": "x"}}, "location": "eastus", "$schema": "x"})",
     ""},
    {R"({"vmSize": "STANDARD_NC6"})", ""},
    {R"({"properties": {"vmSise": "x"}})",
     "c.json:1:27: warning: properties.vmSise: unknown key, ignored; did you mean 'vmSize'?"},
    {R"({"properties": {"scaleSettings": {"manual": {"targetNodeCount": "two"}}}})",
     "properties.scaleSettings.manual.targetNodeCount: expected an integer, found a string"},
    {R"({"properties": {"scaleSettings": {"manual": {"target": 1}}}})",
     "warning: properties.scaleSettings.manual.target: unknown key"},
    {R"({"properties": {"scaleSettings": {"autoScale": {"minimumNodeCount": 1}}}})",
     "autoScale.maximumNodeCount: required, but missing"},
    {R"({"properties": {"scaleSettings": {"manual": {"targetNodeCount": 1},
        "autoScale": {"minimumNodeCount": 1, "maximumNodeCount": 1}}}})",
     "a cluster has either this or manual"},
    {R"({"properties": {"nodeSetup": {"mountVolumes": []}}})",
     "properties.nodeSetup.mountVolumes: expected an object"},
    {R"({"properties": {"nodeSetup": {"mountVolumes": {"azureFileShares": [
        {"azureFileUrl": "https://a.file.core.windows.net/s"}]}}}})",
     "azureFileShares[0].relativeMountPath: required, but missing"},
    {R"({"properties": {"nodeCount": 2}})",
     "properties.nodeCount: is of a job file: 'batchai job create -f' takes it"},
    {R"({"properties": {"horovodSettings": {"pythonScriptFilePath": "x"}}})",
     "properties.horovodSettings: is of a job file"},
    {R"([])", "expected an object"},
    {R"({"properties": 1})", "properties: expected an object, found a number"},
    {R"({"a": 1, "a": 2})", "c.json:1"}};

const Case kServers[] = {
    {R"({"properties": {"vmSize": "STANDARD_D1", "dataDisks": {"diskCount": 2, "diskSizeInGB": 10,
        "cachingType": "none", "storageAccountType": "Standard_LRS"}, "sshConfiguration": {
        "publicIPsToAllow": ["1.2.3.4"], "userAccountSettings": {"adminUserName": "me"}}}})",
     ""},
    {R"({"properties": {"dataDisks": {"diskCount": "two"}}})",
     "properties.dataDisks.diskCount: expected an integer, found a string"},
    {R"({"properties": {"dataDisks": {"diskcount": 2}}})", "did you mean 'diskCount'?"},
    {R"({"properties": {"stdOutErrPathPrefix": "/x"}})", "is of a job file"}};

void check(const Case& sample, const std::vector<Finding>& findings) {
    const std::string wanted = sample.finding;
    BOOST_REQUIRE_MESSAGE(findings.size() == (wanted.empty() ? 0U : 1U),
                          (findings.empty() ? "no finding" : findings.front().text()));
    if (!wanted.empty())
        BOOST_TEST(findings.front().text().find(wanted) != std::string::npos,
                   findings.front().text());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parameter_file)

BOOST_DATA_TEST_CASE(a_cluster_file_is_read_strictly, kClusters) {
    check(sample, check_cluster_file(sample.text, "c.json"));
}

BOOST_DATA_TEST_CASE(a_file_servers_file_is_read_strictly, kServers) {
    check(sample, check_file_server_file(sample.text, "n.json"));
}

BOOST_AUTO_TEST_SUITE_END()
