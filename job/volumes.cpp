// SPDX-License-Identifier: Apache-2.0
#include "job/volumes.hpp"

#include <algorithm>
#include <set>

#include "job/file_system.hpp"
#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/reader.hpp"

namespace batchai::job {

namespace {

static_assert(std::ranges::all_of(kVolumeKinds, [](const VolumeKind& kind) {
    return &kind_of(kind.kind) == &kind;
}));

// True for a host of Azure Storage that has no file shares, such as ACCOUNT.blob.core.windows.net.
bool is_other_service(const std::string& host) {
    const std::size_t service = host.find('.') + 1;
    const std::size_t domain = host.find('.', service);
    return service > 0 && domain != host.npos && host.substr(domain).starts_with(".core.") &&
           !equal_but_case(host.substr(service, domain - service), "file");
}

// https://<account>.file.core.windows.net/<share>[/<directory>]
void read_url(Reader& reader, Volume& share) {
    const std::string url = reader.required_string("azureFileUrl");
    if (url.empty()) return;
    const std::size_t scheme = url.find("://");
    const std::size_t slash = scheme == url.npos ? url.npos : url.find('/', scheme + 3);
    if (slash == url.npos || slash + 1 == url.size()) {
        reader.error("azureFileUrl",
                     "expected https://ACCOUNT.file.core.windows.net/SHARE, is '" + url + "'");
        return;
    }
    const std::string host = url.substr(scheme + 3, slash - scheme - 3);
    if (is_other_service(host))
        reader.error("azureFileUrl",
                     "'" + host +
                         "' has no file shares: expected ACCOUNT.file.core.windows.net; a blob "
                         "container belongs in azureBlobFileSystems");
    if (host.rfind(kAccountPlaceholder, 0) != 0) share.account = host.substr(0, host.find('.'));
    const std::string path = without_trailing_slashes(url.substr(slash + 1));
    const std::size_t end = path.find('/');
    share.name = path.substr(0, end);
    if (end != path.npos) share.directory = path.substr(end + 1);
    if (!is_relative_path(share.name) || !is_absolute_path("/" + path))
        reader.error("azureFileUrl", "'" + path + "' is not a share and a directory below it");
}

void read_account(Reader& reader, Volume& volume) {
    const std::string account = reader.string("accountName");
    const bool is_named = !account.empty() && account != kAccountPlaceholder;
    if (is_named && !volume.account.empty() && !equal_but_case(account, volume.account))
        reader.warning("accountName", "is '" + account + "', but azureFileUrl is of the account '" +
                                          volume.account + "'");
    if (is_named) volume.account = account;
    auto credentials = reader.object("credentials");
    if (!credentials) return;
    const std::string key = credentials->string("accountKey");
    volume.key_is_placeholder = key == kKeyPlaceholder;
    if (!volume.key_is_placeholder) volume.account_key = key;
    volume.key_reference = read_secret_reference(*credentials, "accountKeySecretReference");
    if (volume.key_reference && !key.empty())
        credentials->error("accountKeySecretReference",
                           "credentials have either this or accountKey, not both");
    credentials->finish();
}

// A text that may become part of a line of a message.
std::string read_line(Reader& reader, const char* key) {
    const std::string text = reader.string(key);
    if (has_control(text))
        reader.error(key, "has a control character in it, such as the end of a line");
    return text;
}

// "0755"
std::optional<unsigned> read_mode(Reader& reader, const char* key) {
    const std::string text = reader.string(key);
    if (text.empty()) return std::nullopt;
    const auto mode = parse_mode(text);
    if (mode) return mode;
    reader.error(key, "'" + text + "' is not a mode such as 0755");
    return std::nullopt;
}

void read_share(Reader& reader, Volume& volume) {
    read_url(reader, volume);
    read_account(reader, volume);
    volume.file_mode = read_mode(reader, "fileMode");
    volume.directory_mode = read_mode(reader, "directoryMode");
}

void read_blob_container(Reader& reader, Volume& volume) {
    volume.name = reader.required_string("containerName");
    if (!volume.name.empty() && !is_object_name(volume.name))
        reader.error("containerName", "'" + volume.name + "' is not a name");
    read_account(reader, volume);
    volume.mount_options = read_line(reader, "mountOptions");
}

// fileServer.id ends in "/fileservers/NAME".
void read_file_server(Reader& reader, Volume& volume) {
    if (auto server = reader.required_object("fileServer")) {
        const std::string id = server->required_string("id");
        volume.name = id.substr(id.rfind('/') + 1);
        if (!id.empty() && !is_object_name(volume.name))
            server->error("id", "'" + id + "' does not end in the name of a file server");
        server->finish();
    }
    const std::string key = "sourceDirectory";
    std::string directory = reader.string(key);
    while (directory.starts_with('/')) directory.erase(0, 1);
    directory = without_trailing_slashes(directory);
    if (directory == ".") directory.clear();
    if (!directory.empty() && !is_absolute_path("/" + directory))
        reader.error(key, "'" + directory + "' is not a directory of the server: no '..'");
    volume.directory = directory;
    volume.mount_options = read_line(reader, "mountOptions");
}

void read_unmanaged(Reader& reader, Volume& volume) {
    volume.name =
        reader.required_string("mountCommand").empty() ? "" : read_line(reader, "mountCommand");
}

void read_mount_path(Reader& reader, const std::vector<Volume>& others, Volume& volume) {
    const char* const key = "relativeMountPath";
    const std::string path = reader.required_string(key);
    volume.relative_mount_path = path;
    if (path.empty()) return;
    if (const std::string why = why_no_mount_target(path); !why.empty())
        reader.error(key, "'" + path + "' " + why);
    for (const Volume& other : others)
        if (is_within(path, other.relative_mount_path) ||
            is_within(other.relative_mount_path, path))
            reader.error(key, "another volume of this job is mounted at '" +
                                  other.relative_mount_path + "'");
}

// In the order of kVolumeKinds.
constexpr void (*kReaders[])(Reader&, Volume&) = {read_share, read_blob_container, read_file_server,
                                                  read_unmanaged};

}  // namespace

std::vector<Volume> read_volumes(Reader& properties) {
    std::vector<Volume> volumes;
    auto mounts = properties.object("mountVolumes");
    if (!mounts) return volumes;
    for (const VolumeKind& kind : kVolumeKinds) {
        if (kind.list == nullptr) continue;
        for (Reader& reader : mounts->objects(kind.list)) {
            Volume volume;
            volume.kind = kind.kind;
            volume.key = reader.path();
            kReaders[static_cast<std::size_t>(kind.kind)](reader, volume);
            read_mount_path(reader, volumes, volume);
            reader.finish();
            volumes.push_back(volume);
        }
    }
    mounts->finish();
    return volumes;
}

sys::Result<std::vector<Volume>> read_volumes(Json mount_volumes) {
    const Document document(Json{{"mountVolumes", std::move(mount_volumes)}});
    std::vector<Finding> findings;
    Reader properties(document, document.root(), "properties", findings);
    auto volumes = read_volumes(properties);
    for (const Finding& finding : findings)
        if (finding.severity == Finding::Severity::error)
            return sys::Error{finding.path + ": " + finding.message};
    return volumes;
}

void fill_in(std::vector<Volume>& volumes, const std::string& account, const std::string& key) {
    const auto is_of_account = [](const Volume& volume) {
        return kind_of(volume.kind).has_account;
    };
    std::set<std::string> accounts;
    for (Volume& volume : volumes) {
        if (!is_of_account(volume)) continue;
        if (volume.account.empty()) volume.account = account;
        accounts.insert(volume.account);
    }
    std::string owner = account;
    if (owner.empty() && accounts.size() == 1) owner = *accounts.begin();
    for (Volume& volume : volumes) {
        const bool is_owners = !owner.empty() && volume.account == owner;
        if (is_of_account(volume) && volume.account_key.empty() && !volume.key_reference &&
            (volume.key_is_placeholder || is_owners))
            volume.account_key = key;
    }
}

std::string describe(const Volume& volume) {
    return std::string(kind_of(volume.kind).name) + " '" + volume.name + "'" +
           (volume.account.empty() ? "" : " of account '" + volume.account + "'");
}

}  // namespace batchai::job
