// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.hpp"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sys/file.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {
namespace {

constexpr std::size_t kTableMaximum = 64 * 1024 * 1024;

// Takes the text up to the separator off the front of a text.
std::string_view take(std::string_view& text, char separator) {
    const auto end = text.find(separator);
    const auto word = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return word;
}

std::optional<int> number_in(std::string_view text) {
    int number = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || last != text.data() + text.size()) return std::nullopt;
    return number;
}

// The kernel writes a space, tab, newline and backslash of a name as "\040".
std::string unescaped(std::string_view text) {
    std::string plain;
    const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
    for (; !text.empty(); text.remove_prefix(1)) {
        if (text.size() >= 4 && text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
            is_octal(text[3])) {
            plain.push_back(
                static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0')));
            text.remove_prefix(3);
        } else {
            plain.push_back(text[0]);
        }
    }
    return plain;
}

// A line of proc(5): "36 35 98:0 /root /point rw,noatime shared:1 - ext3 /dev/root rw,errors=x".
std::optional<MountEntry> parse(std::string_view line) {
    MountEntry entry;
    const auto id = number_in(take(line, ' '));
    if (!id) return std::nullopt;
    entry.id = *id;
    for (int skipped = 0; skipped < 3; ++skipped) take(line, ' ');  // parent, device, root
    entry.point = unescaped(take(line, ' '));
    take(line, ' ');
    for (std::string_view field; (field = take(line, ' ')) != "-";) {
        if (line.empty()) return std::nullopt;
        entry.shared = entry.shared || field.starts_with("shared:");
    }
    entry.type = take(line, ' ');
    take(line, ' ');  // source
    entry.options = take(line, ' ');
    return entry;
}

// The user that a FUSE mount belongs to. fusermount writes the user's own number, and the kernel
// lets no other process of a user mount in the first user namespace.
std::string_view fuse_user(const MountEntry& entry) {
    constexpr std::string_view kName = "user_id=";
    std::string_view options = entry.options;
    while (!options.empty())
        if (auto option = take(options, ','); option.starts_with(kName))
            return option.substr(kName.size());
    return {};
}

bool is_fuse(const MountEntry& entry) {
    const std::string_view kind = std::string_view(entry.type).substr(0, entry.type.find('.'));
    return kind == "fuse" || kind == "fuseblk";
}

// The mount's number of an open file; nullopt: /proc is not mounted.
std::optional<int> mount_of(int file) {
    const std::string path = "/proc/self/fdinfo/" + std::to_string(file);
    const auto text = read_file(path, 64 * 1024);
    if (!text) return std::nullopt;
    for (std::string_view rest = *text; !rest.empty();) {
        std::string_view line = take(rest, '\n');
        if (take(line, '\t') == "mnt_id:") return number_in(line);
    }
    return std::nullopt;
}

}  // namespace

Result<MountTable> MountTable::read() {
    constexpr char kPath[] = "/proc/self/mountinfo";
    const UniqueFd file(::open(kPath, O_RDONLY | O_CLOEXEC));
    if (!file) return errno_error(kPath);
    const auto text = read_all(file.get(), kTableMaximum);
    if (!text) return text.error().in(kPath);
    return MountTable(*text);
}

MountTable::MountTable(std::string_view mountinfo) {
    while (!mountinfo.empty())
        if (auto entry = parse(take(mountinfo, '\n'))) entries_.push_back(*std::move(entry));
}

const MountEntry* MountTable::of(int file) const {
    const auto id = mount_of(file);
    if (!id) return nullptr;
    const auto found =
        std::ranges::find_if(entries_, [&](const MountEntry& entry) { return entry.id == *id; });
    return found == entries_.end() ? nullptr : &*found;
}

bool MountTable::has(Server server) const {
    return std::ranges::any_of(entries_,
                               [&](const MountEntry& entry) { return server_of(entry) == server; });
}

const MountEntry* MountTable::at(std::string_view path) const {
    const MountEntry* found = nullptr;
    for (const MountEntry& entry : entries_) {
        const std::string_view point = entry.point == "/" ? "" : std::string_view(entry.point);
        const bool contains =
            path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
        if (contains && (found == nullptr || entry.point.size() >= found->point.size()))
            found = &entry;
    }
    return found;
}

Server server_of(const MountEntry& entry) {
    if (is_fuse(entry)) return fuse_user(entry) == "0" ? Server::root : Server::user;
    const bool has_layers = entry.type == "overlay" || entry.type == "ecryptfs" ||
                            entry.type == "aufs" || entry.type == "shiftfs";
    return has_layers && entry.point != "/" ? Server::layers : Server::root;
}

std::string describe(const MountEntry& entry) {
    const std::string_view user = is_fuse(entry) ? fuse_user(entry) : std::string_view();
    return entry.type + (user.empty() ? "" : " of user " + std::string(user)) + " at " +
           entry.point;
}

}  // namespace batchai::sys
