// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_files.hpp"

#include <boost/test/unit_test.hpp>

namespace job = batchai::job;
using batchai::cli::files_instead_of;

namespace {

// Of a job on two nodes with these settings.
std::string instead(const std::string& name, const std::string& settings,
                    const job::SitePolicy& policy = {}) {
    const auto parsed = job::parse_job(
        R"({"properties": {"nodeCount": 2, "stdOutErrPathPrefix": "/o", )" + settings + "}}", "j");
    return files_instead_of(name, parsed.spec.value(), policy);
}

const std::string kShards = R"("caffe2Settings": {"pythonScriptFilePath": "/a.py"})";
const std::string kTensorFlow = R"("tensorFlowSettings": {"pythonScriptFilePath": "/a.py",
    "workerCount": 4, "parameterServerCount": 2})";
const std::string kHorovod = R"("horovodSettings": {"pythonScriptFilePath": "/a.py"},
    "jobPreparation": {"commandLine": "true"})";
const std::string kPyTorch = R"("pyTorchSettings": {"pythonScriptFilePath": "/a.py"})";

}  // namespace

BOOST_AUTO_TEST_SUITE(planned_files)

BOOST_AUTO_TEST_CASE(names_the_files_of_processes_that_have_their_own) {
    BOOST_TEST(instead("stdout.txt", kShards) == "stdout-0.txt, stdout-1.txt");
    BOOST_TEST(instead("stderr-2.txt", kShards) == "stderr-0.txt, stderr-1.txt");
    BOOST_TEST(instead("stdout.txt", kTensorFlow) ==
               "stdout-wk-0.txt, stdout-wk-1.txt to stdout-wk-3.txt, stdout-ps-0.txt, "
               "stdout-ps-1.txt");
    for (const char* planned : {"stdout-wk-0.txt", "stderr-wk-3.txt", "stdout-ps-1.txt"})
        BOOST_TEST(instead(planned, kTensorFlow) == "", planned);
}

BOOST_AUTO_TEST_CASE(names_the_common_file_and_those_of_the_nodes) {
    BOOST_TEST(instead("stdout-0.txt", kHorovod) == "stdout.txt, stdout-job_prep-NODE.txt");
    BOOST_TEST(instead("stderr-job_prep.txt", kHorovod) == "stderr.txt, stderr-job_prep-NODE.txt");
    BOOST_TEST(instead("execution.log", kHorovod) == "execution-NODE.log");
    for (const char* planned : {"stdout.txt", "stderr-job_prep-n1.txt", "execution-n2.log"})
        BOOST_TEST(instead(planned, kHorovod) == "", planned);
}

BOOST_AUTO_TEST_CASE(any_other_file_may_come) {
    for (const char* name : {"loss.txt", "stdout", "stdout.txt.gz", "output.log", "stdouts.txt"})
        BOOST_TEST(instead(name, kShards) == "", name);
    job::SitePolicy policy;
    policy.rank_per_gpu = true;  // the nodes may have eight each
    BOOST_TEST(instead("stdout-15.txt", kPyTorch, policy) == "");
    BOOST_TEST(instead("stdout-15.txt", kPyTorch) == "stdout-0.txt, stdout-1.txt");
}

BOOST_AUTO_TEST_SUITE_END()
