// SPDX-License-Identifier: Apache-2.0
#include "job/layout.hpp"

#include <algorithm>
#include <filesystem>

#include "job/names.hpp"
#include "job/plan.hpp"

namespace batchai::job {

namespace {

std::string with_node(const std::string& name, const std::string& node, const std::string& suffix) {
    return name + (node.empty() ? "" : "-" + node) + suffix;
}

}  // namespace

std::string output_segment(const Identity& identity) {
    return identity.subscription + "/" + lower_case(identity.resource_group) + "/workspaces/" +
           identity.workspace + "/experiments/" + identity.experiment + "/jobs/" + identity.name +
           "/" + identity.uuid;
}

std::string stdouterr_directory(const JobSpec& spec, const Identity& identity,
                                const Environment& environment) {
    return without_trailing_slashes(expand(spec.std_out_err_path_prefix, environment)) + "/" +
           output_segment(identity) + "/stdouterr";
}

JobsDirectory output_directory(const OutputDirectory& output, const Identity& identity,
                               const Environment& environment) {
    std::string path = without_trailing_slashes(expand(output.path_prefix, environment));
    const std::string below = output.path_suffix.empty() ? "" : "/" + output.path_suffix;
    if (!output.is_made) return {path + below, ""};
    path += "/" + output_segment(identity);
    return {path + "/outputs" + below, path.substr(0, path.rfind('/'))};
}

std::vector<JobsDirectory> directories_to_make(const JobSpec& spec, const Identity& identity,
                                               const Environment& environment) {
    const std::string stdouterr = stdouterr_directory(spec, identity, environment);
    std::vector<JobsDirectory> directories{{stdouterr, shared_part(stdouterr)}};
    for (const OutputDirectory& output : spec.outputs)
        if (output.is_made) directories.push_back(output_directory(output, identity, environment));
    return directories;
}

std::string shared_part(const std::string& stdouterr) {
    const std::size_t uuid = stdouterr.rfind('/', stdouterr.rfind('/') - 1);  // it may be empty yet
    return stdouterr.substr(0, uuid);
}

namespace {

// The length of $NAME or ${NAME} at the start of a text, if the path component ends there; else 0.
std::size_t length_of(std::string_view text, const std::string& name) {
    for (const std::string& variable : {"$" + name, "${" + name + "}"})
        if (is_within(text, variable)) return variable.size();
    return 0;
}

}  // namespace

std::size_t mount_root_length(std::string_view text) {
    const std::size_t length = length_of(text, "AZ_BATCHAI_JOB_MOUNT_ROOT");
    return length > 0 ? length : length_of(text, "AZ_BATCHAI_MOUNT_ROOT");
}

bool is_in_mount_root(const std::string& path) {
    return mount_root_length(path) > 0;
}

bool is_in_job_temp(const std::string& path) {
    return length_of(path, "AZ_BATCHAI_JOB_TEMP") > 0 ||
           length_of(path, "AZ_BATCHAI_JOB_TEMP_DIR") > 0;
}

std::optional<std::string> below_mount_root(const std::string& path) {
    const std::size_t root = mount_root_length(path);
    if (root == 0 || root == path.size()) return std::nullopt;
    const std::string below = path.substr(root + 1);
    if (("/" + below + "/").find("/../") != below.npos || below.find('$') != below.npos)
        return std::nullopt;
    // Drop "//" and ".". A leading slash is only a separator.
    const auto normal = std::filesystem::path("/" + below).lexically_normal();
    return without_trailing_slashes(normal.relative_path());
}

std::string why_no_mount_target(const std::string& path) {
    if (!is_relative_path(path))
        return "is not a path below the mount root: no '..', no leading '/', names of letters, "
               "digits, '.', '_' and '-'";
    for (const ReservedTarget& reserved : kReservedTargets)
        if (is_within(path, reserved.name))
            return std::string("is ") + reserved.use + ": choose another name";
    return {};
}

bool is_output_prefix(const std::string& path) {
    std::string rest = path;
    for (const char* name : kDirectoryVariables)
        if (const std::size_t length = length_of(path, name); length > 0)
            rest = "/root" + path.substr(length);
    if (rest.find('$') != rest.npos) return false;
    // "//", "." and a slash at the end are harmless.
    const auto normal = std::filesystem::path(rest).lexically_normal().string();
    return ("/" + rest + "/").find("/../") == rest.npos &&
           is_absolute_path(without_trailing_slashes(normal));
}

std::optional<Volume> volume_of(const JobSpec& spec, const SitePolicy& policy,
                                const std::string& path) {
    const auto below = below_mount_root(path);
    if (!below) return std::nullopt;
    for (const Volume& volume : volumes_of(spec, policy))
        if (is_within(*below, volume.relative_mount_path)) return volume;
    return std::nullopt;
}

std::string no_volume(const std::string& path) {
    return "'" + path +
           "' is on no volume of this job: mount one there with mountVolumes, or ask the site's "
           "admin for a [[cluster_volume]]";
}

namespace {

bool is_read_only(const Volume& volume, const SitePolicy& policy) {
    const auto mount = plan_mount(volume, policy);
    return mount && mount->read_only;
}

bool may_be_written(const SitePolicy& policy, const std::string& path) {
    return std::any_of(policy.allowed.begin(), policy.allowed.end(), [&](const AllowPolicy& allow) {
        const FileSystem& file_system = allow.file_system;
        return kind_of(file_system.type).is_in_place && !file_system.read_only &&
               is_within(path, without_trailing_slashes(file_system.source));
    });
}

}  // namespace

std::vector<RefusedOutput> refused_outputs(const JobSpec& spec, const SitePolicy& policy) {
    std::vector<RefusedOutput> refused;
    for (const OutputDirectory& output : spec.outputs) {
        const std::string& prefix = output.path_prefix;
        if (!output.is_made) continue;
        if (is_in_mount_root(prefix)) {
            const auto volume = volume_of(spec, policy, prefix);
            if (volume && is_read_only(*volume, policy))
                refused.push_back({&output, "'" + prefix + "' is on a volume that " + policy.file +
                                                " mounts read-only"});
            if (!volume) refused.push_back({&output, no_volume(prefix)});
        } else if (!prefix.starts_with('$') && !may_be_written(policy, prefix)) {
            refused.push_back({&output, "'" + prefix +
                                            "' is on no volume of this job, and no [[allow]] of " +
                                            policy.file + " lets jobs write there"});
        }
    }
    return refused;
}

std::optional<std::string> login_path(const JobSpec& spec, const SitePolicy& policy,
                                      const std::string& path) {
    const auto volume = volume_of(spec, policy, path);
    if (!volume) return std::nullopt;
    const auto found = resolve_volume(policy, *volume);
    if (!found || (*found)->login_path.empty()) return std::nullopt;
    return (*found)->login_path + (volume->directory.empty() ? "" : "/" + volume->directory) +
           below_mount_root(path)->substr(volume->relative_mount_path.size());
}

std::optional<std::string> login_stdouterr_directory(const JobSpec& spec, const SitePolicy& policy,
                                                     const Identity& identity) {
    const auto prefix = login_path(spec, policy, spec.std_out_err_path_prefix);
    if (!prefix) return std::nullopt;
    return *prefix + "/" + output_segment(identity) + "/stdouterr";
}

std::optional<std::string> login_output_directory(const JobSpec& spec, const SitePolicy& policy,
                                                  const Identity& identity,
                                                  const OutputDirectory& output) {
    OutputDirectory seen = output;
    const auto prefix = login_path(spec, policy, output.path_prefix);
    if (!prefix) return std::nullopt;
    seen.path_prefix = *prefix;
    return output_directory(seen, identity, {}).path;
}

std::string execution_log_name(const std::string& node) {
    return with_node("execution", node, ".log");
}
std::string preparation_stdout_name(const std::string& node) {
    return with_node("stdout-job_prep", node, ".txt");
}
std::string preparation_stderr_name(const std::string& node) {
    return with_node("stderr-job_prep", node, ".txt");
}

}  // namespace batchai::job
