// SPDX-License-Identifier: Apache-2.0
// What each toolkit runs: which commands, on how many ranks, with which variables and outputs.
#include "job/toolkit/toolkit.hpp"

#include "job/plan.hpp"
#include "samples.hpp"

using namespace batchai::job;

namespace {

ParsedJob parsed(int nodes, const std::string& settings) {
    return parse_job(R"({"properties": {"nodeCount": )" + std::to_string(nodes) +
                         R"(, "stdOutErrPathPrefix": "/out", )" + settings + "}}",
                     "job.json");
}

// A line for each group, and one for each of its variables.
std::string plan_of(int nodes, const std::string& settings) {
    const ParsedJob job = parsed(nodes, settings);
    for (const Finding& finding : job.findings) BOOST_ERROR(finding.text());
    SitePolicy policy;
    policy.python = "python3";
    std::string text;
    for (const ProcessGroup& group :
         plan_launch(job.spec.value(), policy, std::vector<int>(nodes, 0))) {
        text += std::to_string(group.count) + (group.name.empty() ? "" : " " + group.name);
        if (group.placement == Placement::in_turn) text += " in turn";
        if (group.placement == Placement::first_node) text += " on the first node";
        if (group.serves) text += ", ends with the others";
        text += ": " + group.command;
        if (!group.output.empty()) text += " > " + group.output;
        text += "\n";
        for (const auto& [name, value] : group.variables) text += "  " + name + "=" + value + "\n";
    }
    return text;
}

std::string errors_of(const std::string& settings) {
    std::string text;
    for (const Finding& finding : parsed(1, settings).findings) text += finding.text() + "\n";
    return text;
}

bool has_text(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(toolkits_of_the_service)

BOOST_AUTO_TEST_CASE(horovod) {
    BOOST_TEST(plan_of(2, R"("horovodSettings": {"pythonScriptFilePath": "t.py",
                   "commandLineArgs": "--epochs 3 | tee log", "processCount": 8})") ==
               "8: python3 t.py --epochs 3 | tee log\n");
    BOOST_TEST(plan_of(2, R"("horovodSettings": {"pythonScriptFilePath": "t.py",
                   "pythonInterpreterPath": "/opt/py/bin/python"})") ==
               "2: /opt/py/bin/python t.py\n");
}

BOOST_AUTO_TEST_CASE(custom_mpi) {
    BOOST_TEST(plan_of(3, R"("customMpiSettings": {"commandLine": "./solve -n 3"})") ==
               "3: ./solve -n 3\n");
}

BOOST_AUTO_TEST_CASE(custom_toolkit) {
    BOOST_TEST(plan_of(3, R"("customToolkitSettings": {"commandLine": "mpirun ./solve"})") ==
               "1 on the first node: mpirun ./solve\n");
    BOOST_TEST(errors_of(R"("customToolkitSettings": {"commandLine": "x", "processCount": 4})") ==
               "job.json:1:126: note: properties.customToolkitSettings.processCount: ignored: "
               "the command starts its processes itself\n");
}

BOOST_AUTO_TEST_CASE(chainer) {
    BOOST_TEST(plan_of(2, R"("chainerSettings": {"pythonScriptFilePath": "t.py", "processCount": 4,
                   "commandLineArgs": "-g"})") == "4: python3 t.py -g\n");
    // Old examples have it, and the service ignored it.
    BOOST_TEST(has_text(errors_of(R"("chainerSettings": {"pythonScriptFilePath": "t.py",
                            "masterCommandLineArgs": "-g"})"),
                        "warning: properties.chainerSettings.masterCommandLineArgs: unknown key"));
}

BOOST_AUTO_TEST_CASE(cntk_in_python) {
    const char* const plan = "2: python3 t.py --data d\n  KERAS_BACKEND=cntk\n";
    BOOST_TEST(plan_of(2, R"("cntkSettings": {"pythonScriptFilePath": "t.py",
                   "commandLineArgs": "--data d"})") == plan);
    BOOST_TEST(plan_of(2, R"("cntkSettings": {"pythonScriptFilePath": "t.py",
                   "languageType": "python", "commandLineArgs": "--data d"})") == plan);
}

BOOST_AUTO_TEST_CASE(cntk_in_brainscript) {
    const char* const plan =
        "4: cntk configFile=c.cntk rootDir=. dataDir=d\n  KERAS_BACKEND=cntk\n";
    BOOST_TEST(plan_of(2, R"("cntkSettings": {"configFilePath": "c.cntk", "processCount": 4,
                   "commandLineArgs": "rootDir=. dataDir=d"})") == plan);
    BOOST_TEST(plan_of(2, R"("cntkSettings": {"configFilePath": "c.cntk", "processCount": 4,
                   "languageType": "BrainScript", "commandLineArgs": "rootDir=. dataDir=d"})") ==
               plan);
}

BOOST_AUTO_TEST_CASE(cntk_that_cannot_run_is_refused) {
    BOOST_TEST(has_text(errors_of(R"("cntkSettings": {})"),
                        "properties.cntkSettings.configFilePath: required, but missing"));
    BOOST_TEST(has_text(errors_of(R"("cntkSettings": {"languageType": "R"})"),
                        "languageType: expected Python or BrainScript, found 'R'"));
    BOOST_TEST(
        has_text(errors_of(R"("cntkSettings": {"languageType": "Python", "configFilePath": "c"})"),
                 "properties.cntkSettings.pythonScriptFilePath: required, but missing"));
    BOOST_TEST(has_text(
        errors_of(R"("cntkSettings": {"configFilePath": "c", "pythonInterpreterPath": "python"})"),
        "note: properties.cntkSettings.pythonInterpreterPath: ignored: the language is"));
}

BOOST_AUTO_TEST_CASE(caffe_with_a_configuration_file) {
    BOOST_TEST(plan_of(1, R"("caffeSettings": {"configFilePath": "s.prototxt",
                   "commandLineArgs": "-gpu all"})") ==
               "1: caffe train --solver=s.prototxt -gpu all\n");
}

BOOST_AUTO_TEST_CASE(caffe_with_a_script) {
    BOOST_TEST(plan_of(2, R"("caffeSettings": {"pythonScriptFilePath": "t.py", "processCount": 2,
                   "pythonInterpreterPath": "python2"})") == "2: python2 t.py\n");
    BOOST_TEST(has_text(errors_of(R"("caffeSettings": {"pythonScriptFilePath": "t.py",
                            "configFilePath": "s"})"),
                        "properties.caffeSettings.configFilePath: a Caffe job has either"));
    BOOST_TEST(has_text(errors_of(R"("caffeSettings": {})"),
                        "properties.caffeSettings.configFilePath: required, but missing"));
}

BOOST_AUTO_TEST_CASE(caffe2) {
    BOOST_TEST(plan_of(2, R"("caffe2Settings": {"pythonScriptFilePath": "t.py",
                   "commandLineArgs": "--shard_id $AZ_BATCHAI_TASK_INDEX"})") ==
               "2: python3 t.py --shard_id $AZ_BATCHAI_TASK_INDEX > {index}\n"
               "  AZ_BATCHAI_TASK_INDEX={index}\n");
}

BOOST_AUTO_TEST_CASE(pytorch_over_gloo_meets_in_the_shared_directory) {
    BOOST_TEST(plan_of(2, R"("pyTorchSettings": {"pythonScriptFilePath": "t.py",
                   "communicationBackend": "Gloo", "processCount": 4})") ==
               "4: python3 t.py > {index}\n"
               "  AZ_BATCHAI_PYTORCH_BACKEND=gloo\n"
               "  AZ_BATCHAI_PYTORCH_INIT_METHOD=file://$AZ_BATCHAI_SHARED_JOB_TEMP/"
               "pytorch-{launch}\n"
               "  AZ_BATCHAI_TASK_INDEX={index}\n");
}

BOOST_AUTO_TEST_CASE(pytorch_over_tcp_and_nccl_meets_at_the_first_rank) {
    for (const std::string backend : {"tcp", "nccl"})
        BOOST_TEST(plan_of(2, R"("pyTorchSettings": {"pythonScriptFilePath": "t.py",
                       "communicationBackend": ")" +
                                  backend + "\"}") ==
                   "2: python3 t.py > {index}\n"
                   "  AZ_BATCHAI_PYTORCH_BACKEND=" +
                       backend +
                       "\n"
                       "  AZ_BATCHAI_PYTORCH_INIT_METHOD=tcp://{first}\n"
                       "  AZ_BATCHAI_TASK_INDEX={index}\n");
}

BOOST_AUTO_TEST_CASE(pytorch_over_mpi_is_one_mpi_job) {
    BOOST_TEST(plan_of(2, R"("pyTorchSettings": {"pythonScriptFilePath": "t.py",
                   "communicationBackend": "MPI"})") ==
               "2: python3 t.py\n  AZ_BATCHAI_PYTORCH_BACKEND=mpi\n");
    BOOST_TEST(has_text(errors_of(R"("pyTorchSettings": {"pythonScriptFilePath": "t.py",
                            "communicationBackend": "smoke"})"),
                        "communicationBackend: 'smoke' is not one of TCP, Gloo, MPI and NCCL"));
}

BOOST_AUTO_TEST_CASE(tensorflow_on_one_node_is_one_process) {
    BOOST_TEST(
        plan_of(1, R"("tensorFlowSettings": {"pythonScriptFilePath": "t.py",
                   "masterCommandLineArgs": "-m", "workerCommandLineArgs": "-w"})") ==
        "1 chief: python3 t.py -m > wk-{index}\n"
        "  AZ_BATCHAI_PS_HOSTS={hosts:ps}\n"
        "  AZ_BATCHAI_TASK_INDEX={index}\n"
        "  AZ_BATCHAI_WORKER_HOSTS={hosts:chief,worker}\n"
        "  KERAS_BACKEND=tensorflow\n"
        "  TF_CONFIG={\"cluster\":{\"chief\":{json:chief}},\"task\":{\"type\":\"chief\",\"index\":"
        "{place}},\"environment\":\"cloud\"}\n");
}

BOOST_AUTO_TEST_CASE(tensorflow_has_a_master_workers_and_parameter_servers) {
    const std::string cluster =
        R"({"cluster":{"chief":{json:chief},"worker":{json:worker},"ps":{json:ps}},"task":{"type":)";
    const auto variables = [&](const std::string& type) {
        return "  AZ_BATCHAI_PS_HOSTS={hosts:ps}\n"
               "  AZ_BATCHAI_TASK_INDEX={index}\n"
               "  AZ_BATCHAI_WORKER_HOSTS={hosts:chief,worker}\n"
               "  KERAS_BACKEND=tensorflow\n"
               "  TF_CONFIG=" +
               cluster + "\"" + type + "\",\"index\":{place}},\"environment\":\"cloud\"}\n";
    };
    BOOST_TEST(plan_of(2, R"("tensorFlowSettings": {"pythonScriptFilePath": "t.py",
                   "workerCount": 4, "parameterServerCount": 2, "masterCommandLineArgs": "-m",
                   "workerCommandLineArgs": "-w", "parameterServerCommandLineArgs": "-p"})") ==
               "1 chief: python3 t.py -m > wk-{index}\n" + variables("chief") +
                   "3 worker: python3 t.py -w > wk-{index}\n" + variables("worker") +
                   "2 ps in turn, ends with the others: python3 t.py -p > ps-{index}\n" +
                   variables("ps"));
    // Without counts: a worker on each node and one parameter server.
    const std::string without =
        plan_of(3, R"("tensorFlowSettings": {"pythonScriptFilePath": "t.py"})");
    BOOST_TEST(has_text(without, "\n2 worker: python3 t.py > wk-{index}\n"));
    BOOST_TEST(has_text(without, "\n1 ps in turn, ends with the others: python3 t.py > ps-"));
}

BOOST_AUTO_TEST_SUITE_END()
