// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/output_directory.hpp"

#include <filesystem>

#include "job/layout.hpp"
#include "launcher/cli/job/job_input.hpp"

namespace batchai::cli {

sys::Result<std::string> output_directory(const NamedJob& job, const std::string& id,
                                          const std::string& path) {
    if (id != "stdouterr")
        return sys::Error{"output directory " + id + ": the job has only stdouterr"};
    const std::filesystem::path below(path);
    for (const auto& part : below)
        if (part == ".." || below.is_absolute())
            return sys::Error{"--path " + path + ": must stay below the output directory"};
    const auto policy = load_site_policy();
    if (!policy) return policy.error();
    const auto spec = read_spec(job.store, job.row);
    if (!spec) return spec.error();
    const auto directory = job::login_stdouterr_directory(*spec, *policy, job.row.identity);
    if (!directory)
        return sys::Error{"job " + job.row.identity.name + ": its output (" +
                          spec->std_out_err_path_prefix +
                          ") is on no share that this machine sees: the site policy's [[share]] "
                          "has no login_path"};
    const auto whole = std::filesystem::path(*directory) / below;
    return path == "." ? *directory : whole.lexically_normal().string();
}

}  // namespace batchai::cli
