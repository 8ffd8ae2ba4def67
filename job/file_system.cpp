// SPDX-License-Identifier: Apache-2.0
#include "job/file_system.hpp"

#include <algorithm>

namespace batchai::job {

static_assert(std::ranges::all_of(kMountKinds, [](const MountKind& kind) {
    return &kind_of(kind.type) == &kind;
}));

std::string name_of(MountType type) {
    return kind_of(type).name;
}

std::optional<MountType> mount_type(std::string_view name) {
    for (const MountKind& kind : kMountKinds)
        if (kind.name == name) return kind.type;
    return std::nullopt;
}

std::string mount_type_names(bool MountKind::*property) {
    std::string text, last;
    for (const MountKind& kind : kMountKinds) {
        if (property != nullptr && !(kind.*property)) continue;
        if (!last.empty()) text += (text.empty() ? "" : ", ") + last;
        last = kind.name;
    }
    return text.empty() ? last : text + " and " + last;
}

std::optional<unsigned> parse_mode(const std::string& text) {
    const bool octal =
        !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == text.npos;
    const unsigned long mode = octal ? std::stoul(text, nullptr, 8) : 01000;
    if (mode > 0777) return std::nullopt;
    return static_cast<unsigned>(mode);
}

std::string name_of(const CredentialsSource& credentials) {
    switch (credentials.kind) {
        case CredentialsSource::Kind::none:
            break;
        case CredentialsSource::Kind::store:
            return "store:" + credentials.name;
        case CredentialsSource::Kind::user:
            return "user:" + credentials.name;
        case CredentialsSource::Kind::job:
            return "job";
    }
    return {};
}

CredentialsSource parse_credentials_source(const std::string& text) {
    for (const auto kind : {CredentialsSource::Kind::store, CredentialsSource::Kind::user}) {
        const std::string prefix = name_of(CredentialsSource{kind, ""});
        if (text.starts_with(prefix)) return {kind, text.substr(prefix.size())};
    }
    return {};
}

std::string source_below(const FileSystem& file_system, const std::string& directory) {
    if (directory.empty()) return file_system.source;
    const bool slash = file_system.source.ends_with('/') || file_system.source.ends_with(':');
    return file_system.source + (slash ? "" : "/") + directory;
}

GrantedOptions grant_options(const FileSystem& file_system, const std::string& mount_options) {
    std::string text = mount_options;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t' || c == '\n'; }, ',');
    const bool takes_options = kind_of(file_system.type).has_options;
    GrantedOptions granted;
    for (const std::string& option : split_all(text, ',')) {
        if (option.empty() || option == "-o" || option == "defaults" || option == "rw") continue;
        const std::string key = option.substr(0, option.find('='));
        const auto& allowed = file_system.user_options;
        if (option == "ro")
            granted.read_only = true;
        else if (takes_options && std::find(allowed.begin(), allowed.end(), key) != allowed.end())
            granted.options += (granted.options.empty() ? "" : ",") + option;
        else
            granted.ignored.push_back(option);
    }
    return granted;
}

std::vector<std::string> split_all(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end == text.npos ? end : end - begin));
        if (end == text.npos) return parts;
        begin = end + 1;
    }
}

}  // namespace batchai::job
