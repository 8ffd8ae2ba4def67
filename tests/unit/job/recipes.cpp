// SPDX-License-Identifier: Apache-2.0
// Public job files of the service's own recipes, where a folder of them is there:
// BATCHAI_JOB_FILES, or shared/batchai-files beside the project. Each is accepted and planned under
// a policy that has all that it names.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "job/check.hpp"
#include "job/layout.hpp"
#include "job/plan.hpp"
#include "samples.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::job;
namespace fs = std::filesystem;

namespace {

fs::path folder() {
    if (const char* named = std::getenv("BATCHAI_JOB_FILES")) return named;
    return fs::path(BATCHAI_SOURCE_DIR).parent_path() / "shared" / "batchai-files";
}

// The first name below $AZ_BATCHAI_MOUNT_ROOT, where the service's clusters had volumes; often
// none.
std::string cluster_volume_of(const std::string& path) {
    const std::string root = "$AZ_BATCHAI_MOUNT_ROOT/";
    if (!path.starts_with(root)) return {};
    return path.substr(root.size(), path.find('/', root.size()) - root.size());
}

SitePolicy policy_for(const std::string& text) {
    SitePolicy policy;
    policy.file = "batchai.toml";
    ImagePolicy image;
    image.name = "*";
    policy.images = {image};
    policy.secrets = {{"*", "*", {CredentialsSource::Kind::user, "secret"}, {}}};
    const auto parsed = parse_job(text, "job.json");
    if (!parsed.spec) return policy;  // said by check_job
    const auto add = [&policy](Volume::Kind kind, const std::string& name) {
        VolumePolicy volume;
        volume.kind = kind;
        volume.name = name;
        volume.file_system.source = "/srv/" + name;
        policy.volumes.push_back(volume);
    };
    for (const Volume& volume : parsed.spec->volumes) add(volume.kind, volume.name);
    std::set<std::string> names = {cluster_volume_of(parsed.spec->std_out_err_path_prefix),
                                   cluster_volume_of(parsed.spec->toolkit.script),
                                   cluster_volume_of(parsed.spec->toolkit.config)};
    for (const InputDirectory& input : parsed.spec->inputs)
        names.insert(cluster_volume_of(input.path));
    for (const OutputDirectory& output : parsed.spec->outputs)
        names.insert(cluster_volume_of(output.path_prefix));
    for (const std::string& name : names)
        if (!name.empty()) add(Volume::Kind::cluster, name);
    return policy;
}

}  // namespace

BOOST_AUTO_TEST_CASE(plans_every_public_job_file) {
    std::error_code error;
    if (!fs::is_directory(folder(), error)) {
        std::cout << "skipped: there are no public job files in " << folder() << "\n";
        return;
    }
    std::map<std::string, int> planned;
    int files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
        if (entry.path().extension() != ".json") continue;
        ++files;
        const std::string name = entry.path().filename();
        const std::string text = samples::text_of(entry.path());
        const SitePolicy policy = policy_for(text);
        const auto parsed = check_job(text, name, policy, {});
        for (const Finding& finding : parsed.findings)
            BOOST_TEST(finding.severity != Finding::Severity::error, finding.text());
        if (!parsed.spec) continue;
        const JobSpec& spec = *parsed.spec;
        const auto groups = plan_launch(spec, policy, std::vector<int>(spec.node_count, 1));
        BOOST_TEST(!groups.empty(), name);
        for (const ProcessGroup& group : groups)
            BOOST_TEST((group.count > 0 && !group.command.empty()), name);
        BOOST_TEST(bool(plan_mounts(spec, policy)), name);
        ++planned[spec.toolkit.type];
    }
    BOOST_TEST(files > 0);
    std::cout << files << " job files, planned:";
    for (const auto& [type, count] : planned) std::cout << " " << type << " " << count;
    std::cout << "\n";
}
