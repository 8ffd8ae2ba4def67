// SPDX-License-Identifier: Apache-2.0
// Public job files of the service's own recipes, where a folder of them is there:
// BATCHAI_JOB_FILES, or shared/batchai-files beside the project. Each is accepted and planned under
// one policy.
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "job/check.hpp"
#include "job/layout.hpp"
#include "job/plan.hpp"
#include "samples.hpp"

using namespace batchai::job;
namespace fs = std::filesystem;

namespace {

fs::path folder() {
    if (const char* named = std::getenv("BATCHAI_JOB_FILES")) return named;
    return fs::path(BATCHAI_SOURCE_DIR).parent_path() / "shared" / "batchai-files";
}

// Every volume that the files name, and what the service's clusters had mounted.
const char* const kPolicy = R"(
[[share]]
share = "logs"
type = "bind"
source = "/srv/logs"
[[share]]
share = "scripts"
type = "bind"
source = "/srv/scripts"
[[blob_container]]
container = "data"
type = "bind"
source = "/srv/data"
[[cluster_volume]]
path = "external"
type = "bind"
source = "/srv/external"
[[image]]
name = "*"
)";

}  // namespace

BOOST_AUTO_TEST_CASE(plans_every_public_job_file) {
    std::error_code error;
    if (!fs::is_directory(folder(), error)) {
        std::cout << "skipped: there are no public job files in " << folder() << "\n";
        return;
    }
    const auto policy = parse_policy(kPolicy, "batchai.toml");
    for (const Finding& finding : policy.findings) BOOST_ERROR(finding.text());
    std::map<std::string, int> planned;
    int files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
        if (entry.path().extension() != ".json") continue;
        ++files;
        const std::string name = entry.path().filename();
        const auto parsed =
            check_job(samples::text_of(entry.path()), name, policy.policy.value(), {});
        for (const Finding& finding : parsed.findings)
            BOOST_TEST((finding.severity != Finding::Severity::error), finding.text());
        if (!parsed.spec) continue;
        const JobSpec& spec = *parsed.spec;
        const auto groups = plan_launch(spec, *policy.policy, std::vector<int>(spec.node_count, 1));
        BOOST_TEST(!groups.empty(), name);
        for (const ProcessGroup& group : groups)
            BOOST_TEST((group.count > 0 && !group.command.empty()), name);
        BOOST_TEST(bool(plan_mounts(spec, *policy.policy)), name);
        ++planned[spec.toolkit.type];
    }
    BOOST_TEST(files > 0);
    std::cout << files << " job files, planned:";
    for (const auto& [type, count] : planned) std::cout << " " << type << " " << count;
    std::cout << "\n";
}
