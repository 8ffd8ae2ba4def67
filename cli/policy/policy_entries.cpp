// SPDX-License-Identifier: Apache-2.0
#include "cli/policy/policy_entries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/output/result_text.hpp"
#include "cli/session.hpp"
#include "job/layout.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

// A string in JSON's form is also a basic string of TOML.
std::string quoted(const std::string& text) {
    return json_text(nlohmann::json(text));
}

// Whether TOML accepts the key without quotes.
bool is_bare(const std::string& key) {
    return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    });
}

void add(std::vector<std::string>& entries, std::string entry) {
    if (std::find(entries.begin(), entries.end(), entry) == entries.end())
        entries.push_back(std::move(entry));
}

// The job's volumes, and cluster volumes for paths that lie on none of them.
std::vector<job::Volume> needed_volumes(const job::JobSpec& spec, const job::SitePolicy& policy) {
    auto volumes = job::volumes_of(spec, policy);
    std::vector<std::string> paths{spec.std_out_err_path_prefix};
    for (const auto& input : spec.inputs) paths.push_back(input.path);
    for (const auto& output : spec.outputs) paths.push_back(output.path_prefix);
    for (const auto& file : {spec.toolkit.script, spec.toolkit.config}) paths.push_back(file);
    for (const auto& path : paths) {
        const auto below = job::below_mount_root(path);
        if (!below || job::volume_of(spec, policy, path)) continue;
        job::Volume volume;
        volume.kind = job::Volume::Kind::cluster;
        volume.name = volume.relative_mount_path = below->substr(0, below->find('/'));
        if (job::why_no_mount_target(volume.name).empty()) volumes.push_back(volume);
    }
    return volumes;
}

}  // namespace

std::string volume_entry(const job::Volume& volume, const std::string& directory) {
    const job::VolumeKind& kind = job::kind_of(volume.kind);
    const bool is_placeholder = directory.empty();
    // A mount command has no name that could be a directory's.
    const bool has_name = kind.kind != job::Volume::Kind::unmanaged;
    const std::string place =
        is_placeholder ? "/data" + (has_name ? "/" + volume.name : "") : directory;
    return fmt::format("[[{}]]\n{} = {}\ntype = \"bind\"\nsource = {}{}\nlogin_path = {}{}\n",
                       kind.table, kind.table_key, quoted(volume.name), quoted(place),
                       is_placeholder ? " # EDIT: the directory on the nodes" : "", quoted(place),
                       is_placeholder ? " # the same directory on this machine" : "");
}

std::string image_entry(const std::string& image, const std::string& run_on) {
    return fmt::format("[[image]]\nname = {}\nrun_on = {}{}\n", quoted(image),
                       quoted(run_on.empty() ? "host" : run_on),
                       run_on.empty() ? " # the site's own software, or a [container.NAME]" : "");
}

std::string cluster_entry(const std::string& cluster) {
    return fmt::format("[cluster.{}]\npartition = \"\" # empty: Slurm's default partition\n",
                       is_bare(cluster) ? cluster : quoted(cluster));
}

sys::Result<Assignments> read_assignments(const std::vector<std::string>& shares,
                                          const std::vector<std::string>& images) {
    Assignments assignments;
    const auto split = [](const std::string& text, std::map<std::string, std::string>& to) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return false;
        to[text.substr(0, equals)] = text.substr(equals + 1);
        return true;
    };
    for (const auto& text : shares)
        if (!split(text, assignments.shares))
            return sys::Error{"--share " + text + ": expected NAME=DIRECTORY"};
    for (const auto& text : images)
        if (!split(text, assignments.images))
            return sys::Error{"--image " + text + ": expected NAME=host"};
    for (auto& [name, directory] : assignments.shares) {
        std::error_code error;
        const auto whole = std::filesystem::canonical(directory, error);
        if (error) return sys::Error{"--share " + name + "=" + directory + ": " + error.message()};
        directory = whole;
    }
    return assignments;
}

std::vector<std::string> missing_entries(const job::SitePolicy& policy, const job::JobSpec& spec,
                                         const Assignments& assignments) {
    const auto value_of = [](const std::map<std::string, std::string>& values,
                             const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() ? "" : found->second;
    };
    std::vector<std::string> entries;
    for (const auto& volume : needed_volumes(spec, policy))
        if (!job::resolve_volume(policy, volume))
            add(entries, volume_entry(volume, value_of(assignments.shares, volume.name)));
    if (spec.image && !job::resolve_image(policy, *spec.image))
        add(entries, image_entry(*spec.image, value_of(assignments.images, *spec.image)));
    return entries;
}

std::vector<std::string> missing_entries(const job::SitePolicy& policy,
                                         const job::ParsedJob& refused) {
    if (!refused.document) return {};
    const auto read = job::parse_job(refused.document);
    return read.spec ? missing_entries(policy, *read.spec) : std::vector<std::string>();
}

std::vector<std::string> assigned_entries(const job::JobSpec& spec,
                                          const Assignments& assignments) {
    std::vector<std::string> entries;
    for (const auto& volume : needed_volumes(spec, job::SitePolicy()))
        if (const auto found = assignments.shares.find(volume.name);
            found != assignments.shares.end())
            add(entries, volume_entry(volume, found->second));
    if (spec.image)
        if (const auto found = assignments.images.find(*spec.image);
            found != assignments.images.end())
            add(entries, image_entry(*spec.image, found->second));
    return entries;
}

void print_missing_entries(const job::SitePolicy& policy, const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    const std::string text =
        fmt::format("To allow it, add to {}:\n\n{}", policy.file, fmt::join(entries, "\n"));
    std::cerr << sys::printable_lines(text) << std::flush;
}

}  // namespace batchai::cli
