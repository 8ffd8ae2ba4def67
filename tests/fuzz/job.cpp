// SPDX-License-Identifier: Apache-2.0
//
// A job file, from its text to what runs on a node.
#include <algorithm>

#include "job/check.hpp"
#include "job/layout.hpp"
#include "job/plan.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai::job;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    CheckOptions options;
    options.storage_account = "mystorageaccount";
    options.cluster_nodes = 4;
    const ParsedJob job = check_job(text, "job.json", fuzz::site(), options);
    fuzz::must_be_lines(job.findings);
    fuzz::must(job.spec.has_value() == !has_error(job.findings), "a job or an error", "");
    if (!job.spec) return 0;

    const auto mounts = plan_mounts(*job.spec, fuzz::site());
    fuzz::must(static_cast<bool>(mounts), "a job that passes the check can be mounted", "");
    for (const Mount& mount : *mounts) fuzz::must_stay_below(mount.target);

    Identity identity;
    identity.name = "job";
    identity.uuid = "0";
    const NodeContext node{"/run/batchai/mnt", "/tmp/job", "/home/u/shared", 1, true, {"n1", "n2"}};
    const Environment environment = job_environment(*job.spec, identity, node);
    for (const auto& [name, value] : environment) {
        fuzz::must(!name.empty() && name.find('=') == name.npos, "a variable has a name", name);
        fuzz::must(value.find('\0') == value.npos, "a variable ends where it ends", name);
    }
    (void)stdouterr_directory(*job.spec, identity, environment);
    for (const JobsDirectory& directory : directories_to_make(*job.spec, identity, environment))
        fuzz::must(directory.path.starts_with(directory.shared), "a part of it", directory.path);
    (void)login_stdouterr_directory(*job.spec, fuzz::site(), identity);
    const auto image = resolve_image(fuzz::site(), *job.spec);
    if (image) (void)script_path(*job.spec, environment, *image);
    (void)resolve_preparation(fuzz::site(), *job.spec);
    for (const ProcessGroup& group :
         plan_launch(*job.spec, fuzz::site(), std::vector<int>(job.spec->node_count, 1)))
        fuzz::must(group.count > 0, "a group has ranks", std::to_string(group.count));
    return 0;
}
