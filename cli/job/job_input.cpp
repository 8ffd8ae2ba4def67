// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_input.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/command_options.hpp"
#include "cli/job/parameter_file.hpp"
#include "cli/policy/policy_entries.hpp"
#include "job/check.hpp"
#include "job/document.hpp"
#include "job/snapshot.hpp"
#include "job/spec.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/users.hpp"

namespace batchai::cli {
namespace {

constexpr const char* kStorageKey = "AZURE_BATCHAI_STORAGE_KEY";

void add_volumes(job::Document& document, const JobInput& input) {
    job::Json& root = document.root();
    if (!root.is_object() || !root.contains("properties")) return;
    MountOptions options = input.mounts;
    options.account = input.storage.name;
    merge_volumes(root["properties"], mount_volumes(options, input.scope));
    merge_volumes(root["properties"], input.volumes);
}

void remove_record(const Store& store, const JobRow& row) {
    std::error_code ignored;
    std::filesystem::remove_all(store.record(row.identity.uuid), ignored);
}

// Adds the job's row. Other processes see it, so a local job has its lock before.
sys::Result<NewJob> enter(Store& store, const JobRow& row) {
    NewJob job{row, {}};
    if (row.local) {
        auto lock = sys::FileLock::take(store.lock(row.identity.uuid));
        if (!lock) return lock.error();
        job.lock = *std::move(lock);
    }
    const auto added = store.history.add_job(row, false);
    if (!added) return added.error();
    if (*added) return job;
    return sys::Error{
        "A job with given name, experiment, workspace and resource group already exists."};
}

}  // namespace

job::Identity JobInput::identity() const {
    job::Identity identity;
    identity.resource_group = scope.resource_group;
    identity.workspace = scope.workspace;
    identity.experiment = scope.experiment;
    identity.name = name;
    identity.cluster = job::cluster_text(
        identity, {cluster_scope.resource_group, cluster_scope.workspace, cluster});
    return identity;
}

void add_storage_options(CLI::App& verb, StorageAccount& storage) {
    verb.add_option("--storage-account-name", storage.name,
                    "fills in <AZURE_BATCHAI_STORAGE_ACCOUNT>")
        ->envname("AZURE_BATCHAI_STORAGE_ACCOUNT");
    verb.add_option(
            "--storage-account-key", storage.key,
            "fills in <AZURE_BATCHAI_STORAGE_KEY>; better in the variable, which other users "
            "do not see")
        ->envname(kStorageKey);
}

void add_job_input(CLI::App& verb, JobInput& input) {
    verb.add_option("-f,--config-file", input.config_file, "the job file (job.json)");
    verb.add_option("-n,--name", input.name, "the job's name")->check(kName)->required();
    add_experiment_options(verb, input.scope);
    add_storage_options(verb, input.storage);
    add_mount_options(verb, input.mounts);
    ignore_options(verb, {"-l,--location"});
}

void add_launch_options(CLI::App& verb, job::LaunchOptions& launch, bool has_queue) {
    for (const job::LaunchOption* option : job::kLaunchOptions) {
        if (!has_queue && (option == &job::kRequeueOn || option == &job::kMaxRequeues)) continue;
        const auto take = [&launch, option](const std::string& text) {
            launch[option->name] = text;
        };
        const auto check = [option](const std::string& text) { return option->refuse(text); };
        const std::string name = std::string("--") + option->name;
        auto* const added =
            option->kind == job::LaunchOption::Kind::flag
                ? verb.add_flag_callback(
                      name, [take] { take("true"); }, option->description)
                : verb.add_option_function<std::string>(name, take, option->description)
                      ->check(check)
                      ->type_name(option->value);
        added->group("Passed on to batchai-launch");
    }
}

sys::Result<void> complete_launch(job::LaunchOptions& launch, const job::SitePolicy& policy,
                                  bool may_requeue) {
    const std::string on = job::kRequeueOn.name, most = job::kMaxRequeues.name;
    if (!may_requeue && launch.contains(on))
        return sys::Error{"--requeue-on and sbatch's --no-requeue exclude each other"};
    const bool is_limited = launch.contains(most);
    launch.insert(policy.launch.begin(), policy.launch.end());
    if (!may_requeue) launch.erase(on);
    if (launch.contains(on)) return {};
    launch.erase(most);
    if (is_limited) return sys::Error{"--max-requeues requires --requeue-on"};
    return {};
}

sys::Result<job::SitePolicy> load_site_policy() {
    const std::string file = job::default_policy_file();
    if (::access(file.c_str(), R_OK) != 0)
        return sys::Error{"site policy " + file + ": " + std::strerror(errno) +
                          ": set BATCHAI_POLICY to the site's, or to an empty file for none"};
    auto policy = job::load_policy(file);
    if (policy) return policy;
    // Prints a line for each mistake except the last, which the caller prints.
    std::string lines = policy.error().message;
    for (std::size_t end; (end = lines.find('\n')) != lines.npos; lines.erase(0, end + 1))
        fail(kEnvironment, lines.substr(0, end));
    return sys::Error{lines};
}

std::string job_policy_file(const Store& store, const std::string& uuid) {
    return store.record(uuid) + "/policy.toml";
}

sys::Result<job::SitePolicy> load_job_policy(const Store& store, const JobRow& row) {
    const std::string file = job_policy_file(store, row.identity.uuid);
    return sys::is_regular_file(file) ? job::load_policy(file) : load_site_policy();
}

sys::Result<job::ParsedJob> read_job_file(const std::string& file) {
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    return job::parse_job(*text, file);
}

job::ParsedJob check_file(job::ParsedJob parsed, const std::string& file,
                          const job::SitePolicy& policy, const StorageAccount& storage,
                          std::optional<int> cluster_nodes, std::optional<job::Identity> identity,
                          bool brings_scripts) {
    job::CheckOptions options;
    if (!storage.name.empty()) options.storage_account = storage.name;
    options.storage_key = storage.key;
    options.cluster_nodes = cluster_nodes;
    options.file_exists = sys::is_regular_file;
    if (brings_scripts)
        options.is_brought = [&file](const std::string& script) {
            return sys::is_regular_file(std::filesystem::absolute(file).parent_path() / script);
        };
    options.is_missing = sys::is_missing;
    options.writable = sys::check_writable;
    options.user = sys::own_names();
    options.identity = std::move(identity);
    return job::check_job(std::move(parsed), policy, options);
}

std::optional<CheckedJob> check_input(job::ParsedJob parsed, const JobInput& input,
                                      const job::SitePolicy& policy,
                                      std::optional<int> cluster_nodes) {
    if (parsed.document) add_volumes(*parsed.document, input);
    parsed = check_file(std::move(parsed), input.config_file, policy, input.storage, cluster_nodes,
                        input.identity(), input.brings_scripts);
    if (shows_notes()) job::leave_out_known_notes(parsed.findings);
    print_findings(parsed.findings);
    if (!parsed.spec) {
        print_missing_entries(policy, missing_entries(policy, parsed));
        return std::nullopt;
    }
    if (parsed.spec->identity) {
        fail(kBadInput, input.config_file +
                            ": is the snapshot of a submitted job: submit the file it was made of");
        return std::nullopt;
    }
    return CheckedJob{std::move(parsed)};
}

sys::Result<NewJob> take_name(Store& store, const JobInput& input, const CheckedJob& checked,
                              bool local) {
    const auto snapshot = job::write_snapshot(checked.file, input.config_file, input.identity(),
                                              input.storage.name, input.storage.key, input.launch);
    ::unsetenv(kStorageKey);  // the snapshot has it; processes must not inherit it
    if (!snapshot) return snapshot.error().in("writing the job's snapshot");
    JobRow row;
    row.identity = input.identity();
    row.identity.uuid = std::filesystem::path(*snapshot).parent_path().filename();
    row.local = local;
    row.created = sys::wall_clock();
    auto taken = enter(store, row);
    if (!taken) remove_record(store, row);
    return taken;
}

void give_up(Store& store, NewJob job) {
    job.lock = {};  // on NFS, a file that is open keeps its directory
    remove_record(store, job.row);
    if (const auto done = store.history.remove_job(job.row.identity.uuid); !done)
        note(done.error().message);
}

}  // namespace batchai::cli
