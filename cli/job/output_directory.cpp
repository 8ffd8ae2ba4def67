// SPDX-License-Identifier: Apache-2.0
#include "cli/job/output_directory.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/job/job_input.hpp"
#include "job/layout.hpp"

namespace batchai::cli {
namespace {

std::string ids_of(const job::JobSpec& spec) {
    std::string ids = "stdouterr";
    for (const job::OutputDirectory& output : spec.outputs) ids += ", " + output.id;
    return ids;
}

}  // namespace

sys::Result<std::string> output_directory(const NamedJob& job, const std::string& id,
                                          const std::string& path) {
    const std::filesystem::path below(path);
    for (const auto& part : below)
        if (part == ".." || below.is_absolute())
            return sys::Error{"--path " + path + ": must stay below the output directory"};
    const auto policy = load_job_policy(job.store, job.row);
    if (!policy) return policy.error();
    const auto spec = read_spec(job.store, job.row);
    if (!spec) return spec.error();
    std::string prefix = spec->std_out_err_path_prefix;
    auto directory = job::login_stdouterr_directory(*spec, *policy, job.row.identity);
    if (id != "stdouterr") {
        const auto found =
            std::find_if(spec->outputs.begin(), spec->outputs.end(),
                         [&](const job::OutputDirectory& output) { return output.id == id; });
        if (found == spec->outputs.end())
            return sys::Error{"output directory " + id + ": the job has only " + ids_of(*spec)};
        prefix = found->path_prefix;
        directory = job::login_output_directory(*spec, *policy, job.row.identity, *found);
    }
    if (!directory)
        return sys::Error{"job " + job.row.identity.name + ": its output (" + prefix +
                          ") is on no share that this machine sees: the site policy's [[share]] "
                          "has no login_path"};
    const auto whole = std::filesystem::path(*directory) / below;
    return path == "." ? *directory : whole.lexically_normal().string();
}

}  // namespace batchai::cli
