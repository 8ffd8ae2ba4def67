// SPDX-License-Identifier: Apache-2.0
//
// The TOML file of the site policy: which keys its tables have.
#include "job/policy.hpp"

#include <cstdlib>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/policy_table.hpp"
#include "job/size.hpp"
#include "sys/file.hpp"

namespace batchai::job {

namespace {

constexpr std::size_t kMaxPolicyBytes = 1 << 20;

MountType read_type(Table& table) {
    std::string name = "bind";
    table.read("type", name);
    if (const auto type = mount_type(name)) return *type;
    table.error("type", "'" + name + "' is not one of " + mount_type_names());
    return MountType::bind;
}

void read_source(Table& table, FileSystem& file_system) {
    const MountKind& kind = kind_of(file_system.type);
    std::string& source = file_system.source;
    if (kind.source == SourceForm::directory || kind.source == SourceForm::image)
        return table.require_path("source", source);
    if (kind.source == SourceForm::none) {
        if (table.has("source"))
            table.error("source",
                        std::string("a ") + kind.name + " has no source: remove this key");
        return;
    }
    table.require("source", source);
    const bool is_host_export = source.find(":/") != source.npos;
    const bool is_host_share = source.starts_with("//") && source.find('/', 2) != source.npos;
    if (kind.source == SourceForm::host_export && !source.empty() && !is_host_export)
        table.error("source", "'" + source + "' is not HOST:/EXPORT");
    if (kind.source == SourceForm::host_share && !source.empty() && !is_host_share)
        table.error("source", "'" + source + "' is not //HOST/SHARE");
    source = without_trailing_slashes(source);
    if (has_control(source)) table.error("source", "has a control character in it");
}

// Refuses options that root always sets, and options with secrets.
void check_options(Table& table, const char* key, MountType type,
                   const std::vector<std::string>& options) {
    if (table.has(key) && !kind_of(type).has_options)
        table.error(key, "only " + mount_type_names(&MountKind::has_options) + " have options");
    for (const std::string& option : options) {
        const std::string name = option.substr(0, option.find('='));
        for (const char* reserved :
             {"ro", "rw", "suid", "dev", "source", "addr", "ip", "uid", "gid", "cruid", "user",
              "username", "pass", "password", "domain", "credentials", "file_mode", "dir_mode"})
            if (name == reserved)
                table.error(
                    key, "'" + name +
                             "' is not an option for this key: batchai sets it from the job's user "
                             "and the keys read_only, credentials, file_mode and "
                             "directory_mode");
        if (has_control(option)) table.error(key, "has a control character in it");
    }
}

void read_options(Table& table, FileSystem& file_system) {
    std::string text;
    table.read("options", text);
    for (const std::string& option : split_all(text, ','))
        if (!option.empty()) file_system.options.push_back(option);
    table.read("user_options", file_system.user_options);
    check_options(table, "options", file_system.type, file_system.options);
    check_options(table, "user_options", file_system.type, file_system.user_options);
}

void read_credentials(Table& table, FileSystem& file_system) {
    std::string text;
    table.read_name("credentials", text);
    if (text.empty()) return;
    using Kind = CredentialsSource::Kind;
    CredentialsSource& credentials = file_system.credentials;
    if (text == "job")
        credentials.kind = Kind::job;
    else
        credentials = parse_credentials_source(text);
    const bool named = credentials.kind == Kind::job || is_object_name(credentials.name);
    if (credentials.kind == Kind::none || !named)
        table.error("credentials", "'" + text + "' is not store:NAME, user:NAME or job");
    if (!kind_of(file_system.type).has_credentials)
        table.error("credentials",
                    "only " + mount_type_names(&MountKind::has_credentials) + " have credentials");
}

// Only a share or a container has an account's key.
void refuse_job_credentials(Table& table, const FileSystem& file_system) {
    if (file_system.credentials.kind == CredentialsSource::Kind::job)
        table.error(
            "credentials",
            "\"job\" is for [[share]] and [[blob_container]]: only they have an account's key");
}

FileSystem read_file_system(Table& table, const SitePolicy& policy) {
    FileSystem file_system;
    file_system.type = read_type(table);
    read_source(table, file_system);
    read_options(table, file_system);
    read_credentials(table, file_system);
    if (kind_of(file_system.type).has_program) {
        table.require("program", file_system.program);
        if (!file_system.program.empty() && policy.programs.count(file_system.program) == 0)
            table.error("program", "there is no [program." + file_system.program + "]");
    }
    table.read("read_only", file_system.read_only);
    table.read("max_size", file_system.max_size);
    if (!parse_size(file_system.max_size))
        table.error("max_size", "'" + file_system.max_size + "' is not a size such as 512M or 4G");
    for (const char* key : {"file_mode", "directory_mode"})
        if (table.has(key) && !kind_of(file_system.type).has_modes)
            table.error(key, "only " + mount_type_names(&MountKind::has_modes) +
                                 " has modes for all of its files");
    table.read_mode("file_mode", file_system.file_mode);
    table.read_mode("directory_mode", file_system.directory_mode);
    return file_system;
}

// Volumes of the cluster are mounted in every job, so none may be at, above or below another one's
// path.
void refuse_overlap(Table& table, const VolumePolicy& volume, const SitePolicy& policy) {
    for (const VolumePolicy& other : policy.volumes) {
        if (other.kind != Volume::Kind::cluster) continue;
        if (is_within(volume.name, other.name) || is_within(other.name, volume.name))
            table.error("path", "'" + volume.name + "' overlaps the [[cluster_volume]] '" +
                                    other.name + "'");
    }
}

// A table that maps one of Azure's names.
VolumePolicy read_volume(Table& table, const VolumeKind& kind, const SitePolicy& policy) {
    VolumePolicy volume;
    volume.kind = kind.kind;
    if (kind.has_account) table.read_name("account", volume.account);
    table.require(kind.table_key, volume.name);
    if (volume.kind == Volume::Kind::cluster && !volume.name.empty())
        if (const std::string why = why_no_mount_target(volume.name); !why.empty())
            table.error(kind.table_key, "'" + volume.name + "' " + why);
    if (volume.kind == Volume::Kind::cluster) refuse_overlap(table, volume, policy);
    volume.file_system = read_file_system(table, policy);
    if (!kind.has_account) refuse_job_credentials(table, volume.file_system);
    table.read_path("login_path", volume.login_path);
    table.finish();
    return volume;
}

PreparationPolicy read_preparation(Table& table) {
    PreparationPolicy preparation;
    table.require("command", preparation.command);
    table.read("replace", preparation.replace);
    table.read("say", preparation.say);
    table.finish();
    return preparation;
}

AllowPolicy read_allow(Table& table, const SitePolicy& policy) {
    AllowPolicy allow;
    allow.file_system = read_file_system(table, policy);
    refuse_job_credentials(table, allow.file_system);
    const FileSystem& file_system = allow.file_system;
    const bool by_path =
        kind_of(file_system.type).has_program && file_system.source.starts_with('/');
    if (kind_of(file_system.type).is_remote && !by_path) {
        table.require("name", allow.name);
        if (!allow.name.empty() && !is_object_name(allow.name))
            table.error("name", "'" + allow.name + "' is not a name");
    }
    table.finish();
    return allow;
}

SecretPolicy read_secret(Table& table) {
    SecretPolicy secret;
    table.require("vault", secret.vault);
    table.require("url", secret.url);
    std::string text;
    table.require("file", text);
    secret.source = parse_credentials_source(text);
    if (!text.empty() && !is_object_name(secret.source.name))
        table.error("file", "'" + text + "' is not store:NAME or user:NAME");
    table.read("users", secret.users);
    const bool of_store = secret.source.kind == CredentialsSource::Kind::store;
    if (of_store && secret.users.empty())
        table.error("users",
                    "a secret of the store needs a list of the users or @GROUPs that may use it");
    if (!of_store && table.has("users"))
        table.error("users", "remove this key: only its owner's jobs use a user's own file");
    table.finish();
    return secret;
}

// A user may only lower a priority. Only operators may set a negative value.
constexpr int kMostNice = 2'147'483'645;

PriorityPolicy read_priority(Table& table) {
    PriorityPolicy priority;
    int nice = 0;
    table.read("nice", nice, 0, kMostNice);
    table.read_name("qos", priority.qos);
    if (table.has("nice")) priority.nice = nice;
    if (priority.nice && table.has("qos"))
        table.error("qos", "expected either nice or qos");
    else if (!priority.nice && !table.has("qos"))
        table.error("nice", "neither nice nor qos is set: set one of them");
    if (!priority.qos.empty() && !is_object_name(priority.qos))
        table.error("qos", "'" + priority.qos + "' is not a name");
    table.finish();
    return priority;
}

ClusterPolicy read_cluster(Table& table) {
    ClusterPolicy cluster;
    table.read("partition", cluster.partition);
    table.read("vm_size", cluster.vm_size);
    table.read("gres", cluster.gres);
    table.finish();
    return cluster;
}

// A flag could not be given up on the command line, so it is not a key.
void read_launch(Table& table, LaunchOptions& launch) {
    for (const LaunchOption* option : kLaunchOptions) {
        if (option->kind == LaunchOption::Kind::flag) continue;
        const std::string key = option->policy_key();
        std::string text;
        table.read_text(key, text);
        if (!table.has(key)) continue;
        if (const std::string why = option->refuse(text); !why.empty())
            table.error(key, why);
        else
            launch[option->name] = text;
    }
    table.finish();
}

void read_prepare(Table& job, bool& all_nodes) {
    std::string when = "all-nodes";
    job.read("prepare", when);
    if (when != "all-nodes" && when != "first-step")
        job.error("prepare", "'" + when + "' is not one of all-nodes and first-step");
    all_nodes = when == "all-nodes";
}

void read_sections(Table& root, SitePolicy& policy) {
    for (Table& paths : root.table("paths")) {
        paths.read_path("mount_root", policy.mount_root);
        paths.read_path("job_temp", policy.job_temp);
        paths.read_path("credentials", policy.credentials);
        paths.finish();
    }
    for (Table& job : root.table("job")) {
        job.read_name("python", policy.python);
        job.read("rank_per_gpu", policy.rank_per_gpu);
        read_prepare(job, policy.prepare_all_nodes);
        job.read("preparation_timeout", policy.preparation_timeout, 1, 86400);
        job.read("preparation_cache", policy.preparation_cache, 0, 365);
        job.read("mount_timeout", policy.mount_timeout, 1, 120);
        job.read("exclusive", policy.exclusive);
        job.finish();
    }
    for (Table& launch : root.table("launch")) read_launch(launch, policy.launch);
    // Read these before the tables that name them.
    policy.programs = read_programs(root);
    policy.containers = read_containers(root);
    for (const VolumeKind& kind : kVolumeKinds)
        for (Table& table : root.tables(kind.table))
            policy.volumes.push_back(read_volume(table, kind, policy));
    for (Table& table : root.tables("image"))
        policy.images.push_back(read_image(table, policy.containers));
    for (Table& table : root.tables("preparation"))
        policy.preparations.push_back(read_preparation(table));
    for (Table& table : root.tables("allow")) policy.allowed.push_back(read_allow(table, policy));
    for (Table& table : root.tables("secret")) policy.secrets.push_back(read_secret(table));
    for (Table& priorities : root.table("priority"))
        for (const std::string& name : priorities.keys()) {
            const auto priority = priority_of(name);
            if (!priority) priorities.error(name, "is not one of low, normal and high");
            for (Table& table : priorities.table(name)) {
                PriorityPolicy read = read_priority(table);
                if (priority) policy.priorities[*priority] = std::move(read);
            }
        }
    for (Table& clusters : root.table("cluster"))
        for (const std::string& name : clusters.keys()) {
            if (!is_object_name(name)) clusters.error(name, "'" + name + "' is not a name");
            for (Table& table : clusters.table(name)) policy.clusters[name] = read_cluster(table);
        }
    root.finish();
}

}  // namespace

ParsedPolicy parse_policy(std::string_view text, const std::string& file_name) {
    ParsedPolicy parsed;
    toml::table root;
    try {
        root = toml::parse(text, std::string_view(file_name));
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        parsed.findings.push_back({Finding::Severity::error, file_name, static_cast<int>(at.line),
                                   static_cast<int>(at.column), "",
                                   std::string(error.description())});
        return parsed;
    }
    SitePolicy policy;
    policy.file = file_name;
    Table table(root, "", file_name, parsed.findings);
    read_sections(table, policy);
    if (parsed.findings.empty()) parsed.policy = policy;
    return parsed;
}

sys::Result<SitePolicy> load_policy(const std::string& file) {
    const auto text = sys::read_file(file, kMaxPolicyBytes);
    if (!text) return text.error().in("site policy");
    const ParsedPolicy parsed = parse_policy(*text, file);
    if (parsed.policy) return *parsed.policy;
    std::string lines;
    for (const Finding& finding : parsed.findings)
        lines += (lines.empty() ? "" : "\n") + finding.text();
    return sys::Error{lines};
}

std::string default_policy_file() {
    const char* file = std::getenv("BATCHAI_POLICY");
    return file != nullptr && *file != '\0' ? file : "/etc/batchai/batchai.toml";
}

}  // namespace batchai::job
