// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user/node_plan.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/snapshot.hpp"
#include "job/spec.hpp"
#include "sys/codec.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

std::string directory_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

// The temporary directory's path in the job, which is the same on all nodes.
std::string seen_job_temp(const job::SitePolicy& policy) {
    return policy.mount_root + "/" + job::kTemporary;
}

sys::Result<job::JobSpec> read_snapshot(const std::string& path) {
    if (!path.starts_with('/'))
        return sys::Error{
            path +
            ": is not a snapshot: with srun alone, --export=NONE loses it; use sbatch or salloc"};
    const auto text = sys::read_file(path, job::kMaxJobBytes);
    if (!text && sys::is_missing(path))
        return sys::Error{path +
                          ": the job's record is not on this node: login and compute nodes must "
                          "share home directories"};
    if (!text) return text.error();
    auto parsed = job::parse_job(*text, path);
    if (!parsed.spec) {
        for (const auto& finding : parsed.findings)
            if (finding.severity == job::Finding::Severity::error)
                return sys::Error{finding.text()};
        return sys::Error{path + ": not a job file"};
    }
    if (!parsed.spec->identity) return sys::Error{path + ": is not a snapshot"};
    return *std::move(parsed.spec);
}

// The snapshot that runs here: the submission's, or in a job array the task's own.
sys::Result<std::string> snapshot_of(const Request& request) {
    if (!request.array_task) return request.job_file;
    if (const auto spec = read_snapshot(request.job_file); !spec) return spec.error();
    auto task = job::write_task_snapshot(request.job_file, *request.array_task);
    if (!task) return task.error().in("task of the job array");
    return task;
}

std::vector<WantedSecret> wanted_secrets(const job::JobSpec& spec, const job::SitePolicy& policy) {
    std::vector<WantedSecret> wanted;
    for (const auto& secret : spec.secrets)
        if (secret.reference) wanted.push_back({secret.name, "", *secret.reference});
    for (const auto& volume : spec.volumes) {
        const auto found = job::resolve_volume(policy, volume);
        if (volume.key_reference && found &&
            (*found)->file_system.credentials.kind == job::CredentialsSource::Kind::job)
            wanted.push_back({"", volume.relative_mount_path, *volume.key_reference});
    }
    return wanted;
}

void plan_job(const job::JobSpec& spec, const std::string& snapshot, const Request& request,
              const job::SitePolicy& policy, NodePlan& plan) {
    plan.record = directory_of(snapshot);
    plan.shared_temp = plan.record + "/shared";
    job::NodeContext context;
    context.mount_root = policy.mount_root;
    context.job_temp = seen_job_temp(policy);
    plan.directory = context.job_temp + "/" + job::kWorking;
    context.shared_temp = plan.shared_temp;
    context.gpus = request.gpus;
    context.hosts = request.hosts;
    context.is_retry = request.restart > 0;
    const job::Environment environment = job::job_environment(spec, *spec.identity, context);
    for (const auto& [name, value] : environment)
        plan.environment.push_back(fmt::format("{}={}", name, value));
    plan.environment.push_back("BATCHAI_JOB_FILE=" + snapshot);
    plan.log_directory = job::stdouterr_directory(spec, *spec.identity, environment);
    plan.shared_directory = job::shared_part(plan.log_directory);
    plan.outputs = job::directories_to_make(spec, *spec.identity, environment);
    plan.outputs.erase(plan.outputs.begin());  // the log directory, which plan.log_directory has
    const bool one = spec.node_count == 1 && request.hosts.size() == 1;
    plan.log_node = one ? "" : request.node;
    const auto preparation = job::resolve_preparation(policy, spec);
    plan.command = preparation.command;
    plan.note = preparation.note;
    const auto image = job::resolve_image(policy, spec);
    if (image) plan.script = job::script_path(spec, environment, *image);
    plan.image = spec.image.value_or("");
    if (spec.shm_size) plan.shm_size = std::to_string(*spec.shm_size);
    plan.secrets = wanted_secrets(spec, policy);

    auto mounts = job::plan_mounts(spec, policy);
    if (!mounts)
        plan.failure = mounts.error().message;
    else
        plan.mounts = *std::move(mounts);
    if (const auto refused = job::refused_outputs(spec, policy); !refused.empty())
        plan.failure = refused.front().directory->key + ".pathPrefix: " + refused.front().message;
    if (spec.node_count != static_cast<int>(request.hosts.size()))
        plan.failure = fmt::format(
            "job.json asks for {} (properties.nodeCount) but the allocation has {}; submit with -N "
            "{}",
            sys::plural(spec.node_count, "node"), request.hosts.size(), spec.node_count);
}

// Logs go to the directory of the submission, or below it. If this node does not have that
// directory, it is not made.
void require_submit_directory(const Request& request, NodePlan& plan) {
    const std::string& directory = request.submit_directory;
    std::error_code error;
    if (!plan.command.empty() && plan.log_directory.empty()) {
        plan.failure = "the preparation's logs have no directory: name one with --batchai-output";
        return;
    }
    if (directory.empty() || !job::is_within(plan.log_directory, directory) ||
        std::filesystem::is_directory(directory, error))
        return;
    plan.log_directory.clear();
    plan.failure = directory +
                   ": the directory of the submission is not on this node: name another one with "
                   "--batchai-output";
}

}  // namespace

std::string job_temp(const Request& request, const job::SitePolicy& policy) {
    return fmt::format("{}/batchai-{}-{}", policy.job_temp, request.job_id, request.secret);
}

sys::Result<NodePlan> make_node_plan(const Request& request, const job::SitePolicy& policy) {
    NodePlan plan;
    if (!request.job_file.empty()) {
        const auto snapshot = snapshot_of(request);
        if (!snapshot) return snapshot.error();
        const auto spec = read_snapshot(*snapshot);
        if (!spec) return spec.error();
        plan_job(*spec, *snapshot, request, policy, plan);
    } else {
        plan.environment = {"AZ_BATCHAI_JOB_MOUNT_ROOT=" + policy.mount_root,
                            "AZ_BATCHAI_JOB_TEMP=" + seen_job_temp(policy)};
        plan.log_node = request.node;
        if (!request.preparation.empty()) plan.log_directory = request.submit_directory;
    }
    plan.environment.push_back("BATCHAI_POLICY=" + policy.file);
    if (!request.preparation.empty()) {
        plan.command = request.preparation;
        plan.note.clear();
    }
    if (!request.output.empty()) {
        plan.log_directory = request.output;
        plan.shared_directory.clear();
    }
    if (request.job_file.empty() || !request.output.empty())
        require_submit_directory(request, plan);
    if (!request.mounts.empty() && plan.failure.empty()) {
        auto mounts = job::parse_mounts(request.mounts, policy);
        if (!mounts)
            plan.failure = mounts.error().message;
        else
            plan.mounts.insert(plan.mounts.end(), mounts->begin(), mounts->end());
    }
    if (auto few = job::check_count(plan.mounts.size()); !few) plan.failure = few.error().message;
    return plan;
}

std::string to_bytes(const NodePlan& plan) {
    return sys::encode(plan);
}

sys::Result<NodePlan> node_plan_from_bytes(std::string_view bytes) {
    auto plan = sys::decode_whole<NodePlan>(bytes, sys::Reader::Strings::without_zero);
    const auto has_kind = [](const job::Mount& mount) {
        return static_cast<std::size_t>(mount.type) < std::size(job::kMountKinds);
    };
    if (!plan || !std::ranges::all_of(plan->mounts, has_kind))
        return sys::Error{"plan: malformed: not as batchai-helper's user process writes it"};
    for (const WantedSecret& secret : plan->secrets)
        if (!secret.variable.empty() && !job::is_variable_name(secret.variable))
            return sys::Error{"plan: a secret has no valid variable name"};
    return *std::move(plan);
}

std::string outside_path(const std::string& path, const NodePlan& plan,
                         const job::SitePolicy& policy, const std::string& job_temp) {
    const std::string temporary = seen_job_temp(policy);
    if (job::is_within(path, temporary)) return job_temp + path.substr(temporary.size());
    for (const auto& mount : plan.mounts) {
        const std::string target = policy.mount_root + "/" + mount.target;
        if (!job::is_within(path, target)) continue;
        return mount.kind().is_in_place ? mount.source + path.substr(target.size()) : "";
    }
    return path;
}

}  // namespace batchai::spank
