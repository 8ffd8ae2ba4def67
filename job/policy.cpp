// SPDX-License-Identifier: Apache-2.0
//
// The TOML file of the site policy. toml++ is used in this file only.
#include "job/policy.hpp"

#include <toml++/toml.h>
#include <cstdlib>
#include <set>

#include "job/names.hpp"
#include "job/reader.hpp"
#include "job/size.hpp"
#include "sys/file.hpp"

namespace batchai::job {

namespace {

constexpr std::size_t kMaxPolicyBytes = 1 << 20;

// Typed access to one table of the policy; as Reader is for a job file, but an unknown key is an
// error.
class Table {
  public:
    Table(const toml::table& table, std::string path, const std::string& file,
          std::vector<Finding>& findings)
        : table_(table), path_(std::move(path)), file_(file), findings_(findings) {}

    void error(const std::string& key, const std::string& message) {
        const toml::node* node = table_.get(key);
        const toml::source_position at = node ? node->source().begin : table_.source().begin;
        findings_.push_back({Finding::Severity::error, file_, static_cast<int>(at.line),
                             static_cast<int>(at.column), path_.empty() ? key : path_ + "." + key,
                             message});
    }

    bool has(const std::string& key) {
        known_.insert(key);
        return table_.get(key) != nullptr;
    }

    template <class T>
    void read(const std::string& key, T& target, const char* type) {
        known_.insert(key);
        const toml::node* node = table_.get(key);
        if (node == nullptr) return;
        if (const auto value = node->value_exact<T>())
            target = *value;
        else
            error(key, std::string("expected ") + type);
    }
    void read(const std::string& key, std::string& target) {
        read<std::string>(key, target, "a string");
    }
    void read(const std::string& key, bool& target) { read<bool>(key, target, "true or false"); }

    void read(const std::string& key, int& target, int least, int most) {
        std::int64_t value = target;
        read<std::int64_t>(key, value, "an integer");
        if (value < least || value > most)
            error(key, "must be from " + std::to_string(least) + " to " + std::to_string(most));
        else
            target = static_cast<int>(value);
    }

    // A string that is not empty where it is there.
    void read_name(const std::string& key, std::string& target) {
        read(key, target);
        const toml::node* node = table_.get(key);
        if (node != nullptr && node->is_string() && target.empty()) error(key, "is empty");
    }
    void require(const std::string& key, std::string& target) {
        read_name(key, target);
        if (table_.get(key) == nullptr) error(key, "required, but not there");
    }

    // A directory.
    void read_path(const std::string& key, std::string& target) {
        read_name(key, target);
        while (target.size() > 1 && target.back() == '/') target.pop_back();
        if (!target.empty() && !is_absolute_path(target))
            error(key, "'" + target + "' is not an absolute path without '..'");
    }
    void require_path(const std::string& key, std::string& target) {
        read_path(key, target);
        if (table_.get(key) == nullptr) error(key, "required, but not there");
    }

    // [key], or nothing.
    std::vector<Table> table(const std::string& key) {
        known_.insert(key);
        const toml::node* node = table_.get(key);
        if (node == nullptr) return {};
        const std::string path = path_.empty() ? key : path_ + "." + key;
        if (node->is_table()) return {Table(*node->as_table(), path, file_, findings_)};
        error(key, "expected a table: [" + path + "]");
        return {};
    }

    // [[key]], any number.
    std::vector<Table> tables(const std::string& key) {
        std::vector<Table> result;
        known_.insert(key);
        const toml::node* node = table_.get(key);
        if (node == nullptr) return result;
        const toml::array* array = node->as_array();
        for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
            const toml::table* element = (*array)[i].as_table();
            if (element == nullptr) break;
            result.emplace_back(*element, key + "[" + std::to_string(i) + "]", file_, findings_);
        }
        if (array == nullptr || result.size() != array->size())
            error(key, "expected an array of tables: [[" + key + "]]");
        return result;
    }

    std::vector<std::string> keys() const {
        std::vector<std::string> names;
        for (const auto& [key, node] : table_) names.emplace_back(key.str());
        return names;
    }

    void finish() {
        for (const std::string& key : keys()) {
            if (known_.count(key) != 0) continue;
            const std::string near = closest(key, known_);
            error(key, near.empty() ? "unknown key" : "unknown key; did you mean '" + near + "'?");
        }
    }

  private:
    const toml::table& table_;
    std::string path_;
    const std::string& file_;
    std::vector<Finding>& findings_;
    std::set<std::string> known_;
};

void read_type(Table& table, MountType& type) {
    std::string name = "bind";
    table.read("type", name);
    if (name == "bind")
        type = MountType::bind;
    else if (name == "tmpfs")
        type = MountType::tmpfs;
    else if (name == "overlay")
        type = MountType::overlay;
    else
        table.error("type", "'" + name + "' is not one of bind, tmpfs and overlay");
}

SharePolicy read_share(Table& table) {
    SharePolicy share;
    share.account = "*";
    table.read_name("account", share.account);
    table.require("share", share.share);
    read_type(table, share.type);
    if (share.type != MountType::bind) table.error("type", "a share is of type bind");
    table.require_path("source", share.source);
    table.read_path("login_path", share.login_path);
    table.read("read_only", share.read_only);
    table.finish();
    return share;
}

ImagePolicy read_image(Table& table) {
    ImagePolicy image;
    table.require("name", image.name);
    table.read("run_on", image.run_on);
    if (image.run_on != "host") table.error("run_on", "must be \"host\"");
    table.read("say", image.say);
    table.finish();
    return image;
}

PreparationPolicy read_preparation(Table& table) {
    PreparationPolicy preparation;
    table.require("command", preparation.command);
    table.read("replace", preparation.replace);
    table.read("say", preparation.say);
    table.finish();
    return preparation;
}

AllowPolicy read_allow(Table& table) {
    AllowPolicy allow;
    read_type(table, allow.type);
    if (allow.type != MountType::tmpfs)
        table.require_path("source", allow.source);
    else if (table.has("source"))
        table.error("source", "a tmpfs has none");
    table.read("read_only", allow.read_only);
    table.read("max_size", allow.max_size);
    if (!parse_size(allow.max_size))
        table.error("max_size", "'" + allow.max_size + "' is not a size such as 512M or 4G");
    table.finish();
    return allow;
}

ClusterPolicy read_cluster(Table& table) {
    ClusterPolicy cluster;
    table.read("partition", cluster.partition);
    table.read("vm_size", cluster.vm_size);
    table.read("gres", cluster.gres);
    table.finish();
    return cluster;
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
        paths.finish();
    }
    for (Table& job : root.table("job")) {
        job.read_name("python", policy.python);
        job.read("rank_per_gpu", policy.rank_per_gpu);
        read_prepare(job, policy.prepare_all_nodes);
        job.read("preparation_timeout", policy.preparation_timeout, 1, 86400);
        job.finish();
    }
    for (Table& table : root.tables("share")) policy.shares.push_back(read_share(table));
    for (Table& table : root.tables("image")) policy.images.push_back(read_image(table));
    for (Table& table : root.tables("preparation"))
        policy.preparations.push_back(read_preparation(table));
    for (Table& table : root.tables("allow")) policy.allowed.push_back(read_allow(table));
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
