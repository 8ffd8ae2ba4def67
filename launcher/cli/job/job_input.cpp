// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/job_input.hpp"

#include "job/spec.hpp"
#include "launcher/cli/command_options.hpp"
#include "sys/clock.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "job/snapshot.hpp"
#include "launcher/cli/history/records.hpp"
#include "launcher/cli/output/time_text.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"

namespace batchai::cli {

job::Identity JobInput::identity() const {
    job::Identity identity;
    identity.resource_group = scope.resource_group;
    identity.workspace = scope.workspace;
    identity.experiment = scope.experiment;
    identity.name = name;
    identity.cluster = cluster;
    return identity;
}

void add_job_input(CLI::App& verb, JobInput& input) {
    verb.add_option("-f,--config-file", input.config_file, "the job file (job.json)")->required();
    verb.add_option("-n,--name", input.name, "the job's name")->check(kName)->required();
    add_experiment_options(verb, input.scope);
    verb.add_option("--storage-account-name", input.storage_account,
                    "fills in <AZURE_BATCHAI_STORAGE_ACCOUNT>")
        ->envname("AZURE_BATCHAI_STORAGE_ACCOUNT");
    ignore_options(verb, {"--storage-account-key"});
}

sys::Result<job::SitePolicy> load_site_policy() {
    const std::string file = job::default_policy_file();
    if (::access(file.c_str(), R_OK) != 0)
        return sys::Error{"site policy " + file + ": " + std::strerror(errno) +
                          ": set BATCHAI_POLICY to the site's, or to an empty file for none"};
    auto policy = job::load_policy(file);
    if (policy) return policy;
    // A line for each mistake; the last one is the caller's to say.
    std::string lines = policy.error().message;
    for (std::size_t end; (end = lines.find('\n')) != lines.npos; lines.erase(0, end + 1))
        note(lines.substr(0, end));
    return sys::Error{lines};
}

job::ParsedJob check_text(const std::string& text, const std::string& file,
                          const job::SitePolicy& policy, const std::string& storage_account,
                          std::optional<int> cluster_nodes, std::optional<job::Identity> identity) {
    job::CheckOptions options;
    if (!storage_account.empty()) options.storage_account = storage_account;
    options.cluster_nodes = cluster_nodes;
    options.file_exists = sys::is_regular_file;
    options.writable = sys::check_writable;
    options.identity = std::move(identity);
    return job::check_job(text, file, policy, options);
}

std::optional<CheckedJob> check_input(const JobInput& input, const job::SitePolicy& policy,
                                      std::optional<int> cluster_nodes) {
    auto text = sys::read_file(input.config_file, job::kMaxJobBytes);
    if (!text) {
        note(text.error().message);
        return std::nullopt;
    }
    auto parsed = check_text(*text, input.config_file, policy, input.storage_account, cluster_nodes,
                             input.identity());
    for (const auto& finding : parsed.findings) note(finding.text());
    if (!parsed.spec) return std::nullopt;
    if (parsed.spec->identity) {
        note(input.config_file +
             ": is the snapshot of a submitted job: submit the file it was made of");
        return std::nullopt;
    }
    return CheckedJob{*std::move(text), *std::move(parsed.spec)};
}

sys::Result<NewJob> take_name(Store& store, const JobInput& input, const CheckedJob& checked,
                              bool local) {
    if (auto done = remember_scope(store.history, input.scope); !done) return done.error();
    const auto snapshot = job::write_snapshot(checked.text, input.config_file, input.identity(),
                                              input.storage_account);
    if (!snapshot) return snapshot.error().in("writing the job's snapshot");
    auto alive = lock_record(*snapshot);
    if (!alive) return alive.error();

    JobRow row;
    row.identity = input.identity();
    row.identity.uuid = std::filesystem::path(*snapshot).parent_path().filename();
    row.local = local;
    row.created = sys::wall_clock();
    const auto added = store.history.add_job(row, false);
    if (added && *added) return NewJob{std::move(row), *std::move(alive)};
    std::error_code ignored;
    std::filesystem::remove_all(store.record(row.identity.uuid), ignored);
    if (!added) return added.error();
    return sys::Error{
        "A job with given name, experiment, workspace and resource group already exists."};
}

void give_up(Store& store, const JobRow& row) {
    std::error_code ignored;
    std::filesystem::remove_all(store.record(row.identity.uuid), ignored);
    if (const auto done = store.history.remove_job(row.identity.uuid); !done)
        note(done.error().message);
}

}  // namespace batchai::cli
