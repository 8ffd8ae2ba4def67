// SPDX-License-Identifier: Apache-2.0
#include "job/snapshot.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "job/document.hpp"
#include "job/volumes.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"

namespace batchai::job {

namespace {

const std::string kCommentStart = "batchai:";

sys::Result<std::string> new_uuid() {
    auto uuid = sys::read_file("/proc/sys/kernel/random/uuid", 64);
    if (!uuid) return uuid;
    while (!uuid->empty() && uuid->back() == '\n') uuid->pop_back();
    return uuid;
}

// "properties.mountVolumes.azureFileShares[0]", below the document's root.
Json& volume_at(Json& root, const std::string& key) {
    std::string pointer = "/" + key;
    for (char& c : pointer)
        if (c == '.' || c == '[') c = '/';
    pointer.pop_back();
    return root[Json::json_pointer(pointer)];
}

// volumes: of the same document.
void fill_in(Json& root, std::vector<Volume> volumes, const std::string& account,
             const std::string& storage_key) {
    fill_in(volumes, account, storage_key);
    for (const Volume& volume : volumes) {
        if (!kind_of(volume.kind).has_account) continue;
        Json& json = volume_at(root, volume.key);
        if (!account.empty()) fill_in_account(json, account);
        if (!volume.account_key.empty()) json["credentials"]["accountKey"] = volume.account_key;
    }
}

Json identity_json(const Identity& identity) {
    return {{"subscription", identity.subscription},
            {"resourceGroup", identity.resource_group},
            {"workspace", identity.workspace},
            {"experiment", identity.experiment},
            {"name", identity.name},
            {"uuid", identity.uuid},
            {"cluster", identity.cluster}};
}

// {"restarts": 2, "requeueOn": "signal", "label": true}
Json launch_json(const LaunchOptions& launch) {
    Json json = Json::object();
    for (const LaunchOption* option : kLaunchOptions) {
        const auto given = launch.find(option->name);
        if (given == launch.end()) continue;
        Json value = Json::parse(given->second, nullptr, false);
        json[option->key] = value.is_discarded() ? Json(given->second) : std::move(value);
    }
    return json;
}

// True for a snapshot at the path of write_snapshot.
bool is_in_place(const std::string& file_name, const Identity& identity,
                 const std::string& records) {
    std::error_code ignored;
    return std::filesystem::equivalent(file_name, records + "/" + identity.uuid + "/job.json",
                                       ignored);
}

sys::Result<std::string> store(const Json& root, const std::string& record) {
    if (auto made = sys::make_directories(record, 0700); !made)  // only the user may read it
        return made.error().in("record directory");
    const std::string path = record + "/job.json";
    if (auto written = sys::write_file(
            path, root.dump(4, ' ', false, Json::error_handler_t::replace) + "\n", 0600);
        !written) {
        std::error_code ignored;
        std::filesystem::remove(record, ignored);  // unless it has other files
        return written.error().in("snapshot");
    }
    return path;
}

}  // namespace

sys::Result<std::string> data_directory() {
    for (const auto& [name, below] :
         {std::pair{"XDG_DATA_HOME", "/batchai"}, {"HOME", "/.local/share/batchai"}}) {
        const char* value = std::getenv(name);
        if (value == nullptr || value[0] != '/') continue;
        const std::string directory = value;
        if (directory.find_first_of("\n\r") != directory.npos)
            return sys::Error{std::string(name) + ": has a line end in it"};
        return directory + below;
    }
    return sys::Error{"neither XDG_DATA_HOME nor HOME names a directory"};
}

sys::Result<std::string> write_snapshot(const ParsedJob& parsed, const std::string& file_name,
                                        Identity identity, const std::string& storage_account,
                                        const std::string& storage_key,
                                        const LaunchOptions& launch) {
    const auto data = data_directory();
    if (!data) return data;
    const std::string records = *data + "/jobs";
    if (!parsed.spec) return sys::Error{file_name + ": not a job file"};
    if (parsed.spec->identity) {
        if (is_in_place(file_name, *parsed.spec->identity, records)) return file_name;
        identity.uuid.clear();  // that record belongs to another job
    }
    if (identity.uuid.empty()) {
        const auto uuid = new_uuid();
        if (!uuid) return uuid;
        identity.uuid = *uuid;
    }
    Json root = parsed.document->root();
    fill_in(root, parsed.spec->volumes, storage_account, storage_key);
    root["batchai"] = identity_json(identity);
    if (!launch.empty()) root["batchai"]["launch"] = launch_json(launch);
    return store(root, records + "/" + identity.uuid);
}

std::string comment_of(const Identity& identity) {
    std::string comment = kCommentStart + identity.resource_group + "/" + identity.workspace + "/" +
                          identity.experiment + "/" + identity.name;
    if (!identity.uuid.empty()) comment += "/" + identity.uuid;
    return comment;
}

std::string uuid_of_comment(const std::string& comment) {
    constexpr auto kSlashes = 4;
    if (!comment.starts_with(kCommentStart) ||
        std::count(comment.begin(), comment.end(), '/') != kSlashes)
        return {};
    return comment.substr(comment.rfind('/') + 1);
}

sys::Result<std::string> write_task_snapshot(const std::string& snapshot, unsigned task) {
    const auto text = sys::read_file(snapshot, kMaxJobBytes);
    if (!text) return text.error();
    const ParsedJob parsed = parse_job(*text, snapshot);
    if (!parsed.spec || !parsed.spec->identity) return sys::Error{snapshot + ": not a snapshot"};
    Identity identity = *parsed.spec->identity;
    identity.uuid += "-" + std::to_string(task);
    Json root = parsed.document->root();
    root["batchai"] = identity_json(identity);
    const auto record = std::filesystem::path(snapshot).parent_path();
    return store(root, (record.parent_path() / identity.uuid).string());
}

}  // namespace batchai::job
