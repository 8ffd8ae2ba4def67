// SPDX-License-Identifier: Apache-2.0
#include "cli/storage/share_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "sys/file.hpp"

namespace batchai::cli {
namespace {

struct SplitPath {
    std::string parent;  // "" is the share's top
    std::string name;
};

// Removes slashes at both ends. The name is the last part.
SplitPath split(std::string path) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    while (!path.empty() && path.front() == '/') path.erase(0, 1);
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string joined(const SplitPath& path) {
    return path.parent.empty() ? path.name : path.parent + "/" + path.name;
}

std::string base_name(const std::string& path) {
    return split(path).name;
}

sys::Error bad_path(const std::string& path) {
    return sys::Error{path + ": must stay below the share"};
}

bool has_dots(const std::string& path) {
    return ("/" + path + "/").find("/../") != std::string::npos;
}

constexpr std::size_t kCopyBlock = 1024 * 1024;

sys::Result<void> copy_bytes(int from, int to, std::int64_t total, const Progress& progress) {
    std::vector<char> block(kCopyBlock);
    std::int64_t copied = 0;
    for (;;) {
        const ssize_t n = ::read(from, block.data(), block.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error("read");
        if (n == 0) return {};
        const std::string_view data(block.data(), static_cast<std::size_t>(n));
        if (auto done = sys::write_all(to, data); !done) return done;
        copied += n;
        if (progress) progress(copied, total);
    }
}

// A copy may replace a regular file only, not a device, a FIFO or a symbolic link.
sys::Result<void> may_replace(int directory, const std::string& name) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? sys::Result<void>() : sys::errno_error(name);
    if (S_ISREG(status.st_mode)) return {};
    return sys::Error{"not a regular file: a copy replaces only regular files"};
}

// With a sys::PendingFile, so that no reader sees half a file. The permissions are the source's,
// within the umask.
sys::Result<void> atomic_copy(int from, int directory, const std::string& name,
                              const Progress& progress) {
    struct stat status {};
    if (::fstat(from, &status) != 0) return sys::errno_error("stat");
    if (!S_ISREG(status.st_mode)) return sys::Error{"not a regular file"};
    if (auto done = may_replace(directory, name); !done) return done;
    auto pending = sys::PendingFile::create(directory, status.st_mode & 0777);
    if (!pending) return pending.error();
    if (auto done = copy_bytes(from, pending->fd(), status.st_size, progress); !done) return done;
    if (auto done = pending->put_in_place(name); !done) return done.error().in(name);
    return {};
}

}  // namespace

sys::Result<ShareFiles> ShareFiles::open(const std::string& root) {
    sys::UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!top) return sys::errno_error(root);
    return ShareFiles(root, std::move(top));
}

sys::Result<sys::Place> ShareFiles::find(const std::string& path, For purpose) const {
    if (has_dots(path)) return bad_path(path);
    const std::string relative = joined(split(path));
    const auto name = [this](const std::string& where) { return root_ + "/" + where; };
    sys::PathWalk how;
    how.check = [&](const struct stat& info, const std::string& where) {
        return purpose == For::reading ? sys::Result<void>() : sys::check_link(info, name(where));
    };
    how.explain = [&](const std::string& where, int code) {
        return code == EXDEV ? bad_path(path) : sys::errno_error(name(where), code);
    };
    how.top = top_.get();
    auto place = sys::walk(relative.empty() ? "." : relative, how);
    if (place) place->path = name(place->path);
    return place;
}

sys::Result<sys::UniqueFd> ShareFiles::open_directory(const std::string& path, For purpose) const {
    auto place = find(path, purpose);
    if (!place) return place.error();
    if (!place->found) return sys::errno_error(place->path, ENOENT);
    if (!S_ISDIR(place->info.st_mode)) return sys::errno_error(place->path, ENOTDIR);
    return std::move(place->found);
}

bool ShareFiles::is_directory(const std::string& path) const {
    return open_directory(path, For::reading).has_value();
}

bool ShareFiles::is_file(const std::string& path) const {
    const auto place = find(path, For::reading);
    return place && place->found && !S_ISDIR(place->info.st_mode);
}

sys::Result<bool> ShareFiles::make_directory(const std::string& path) const {
    const SplitPath parts = split(path);
    if (parts.name.empty() || parts.name == "." || has_dots(path)) return bad_path(path);
    const auto parent = open_directory(parts.parent, For::writing);
    if (!parent) return parent.error();
    if (::mkdirat(parent->get(), parts.name.c_str(), 0777) == 0) return true;
    if (errno != EEXIST) return sys::errno_error(root_ + "/" + joined(parts));
    const auto there = open_directory(path, For::writing);
    if (!there) return there.error();
    return false;
}

sys::Result<void> ShareFiles::make_directories(const std::string& path) const {
    const SplitPath parts = split(path);
    if (parts.name.empty() || is_directory(path)) return {};
    if (auto done = make_directories(parts.parent); !done) return done;
    const auto made = make_directory(path);
    if (!made) return made.error();
    return {};
}

sys::Result<bool> ShareFiles::remove(const std::string& path, int flags) const {
    const SplitPath parts = split(path);
    if (parts.name.empty() || parts.name == "." || has_dots(path)) return bad_path(path);
    const auto parent = open_directory(parts.parent, For::writing);
    if (!parent) return parent.error();
    if (::unlinkat(parent->get(), parts.name.c_str(), flags) == 0) return true;
    if (errno == ENOENT) return false;
    return sys::errno_error(root_ + "/" + joined(parts));
}

sys::Result<bool> ShareFiles::remove_file(const std::string& path) const {
    return remove(path, 0);
}

sys::Result<bool> ShareFiles::remove_directory(const std::string& path) const {
    return remove(path, AT_REMOVEDIR);
}

sys::Result<std::string> ShareFiles::upload(const std::string& source, const std::string& path,
                                            const Progress& progress) const {
    const auto from = sys::open_user_file(source, O_RDONLY);
    if (!from) return from.error();
    if (has_dots(path)) return bad_path(path);
    SplitPath to = split(path);
    if (to.name.empty() || is_directory(path)) to = {joined(to), base_name(source)};
    const auto directory = open_directory(to.parent, For::writing);
    if (!directory) return directory.error();
    if (auto done = atomic_copy(from->get(), directory->get(), to.name, progress); !done)
        return done.error().in(source + " to " + root_ + "/" + joined(to));
    return joined(to);
}

sys::Result<std::string> ShareFiles::download(const std::string& path,
                                              const std::string& destination,
                                              const Progress& progress) const {
    const auto place = find(path, For::reading);
    if (!place) return place.error();
    const auto from = sys::open_user_file(*place, O_RDONLY);
    if (!from) return from.error();
    const auto to = sys::find_user_path(destination);
    if (!to) return to.error();
    const bool into = S_ISDIR(to->info.st_mode);
    if (!into && destination.ends_with('/')) return sys::errno_error(destination, ENOENT);
    const std::string name = into ? base_name(path) : to->name;
    const int directory = into ? to->found.get() : to->directory.get();
    if (auto done = atomic_copy(from->get(), directory, name, progress); !done)
        return done.error().in(path + " to " + destination);
    return into ? destination + "/" + name : destination;
}

namespace {

// Sorted by name.
sys::Result<std::vector<ShareEntry>> entries_of(int directory) {
    sys::UniqueFd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!readable) return sys::Error{std::strerror(errno)};
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable.get()), ::closedir);
    if (!stream) return sys::Error{std::strerror(errno)};
    const int fd = readable.release();  // the stream owns it now
    std::vector<ShareEntry> entries;
    while (const dirent* item = ::readdir(stream.get())) {
        const std::string name = item->d_name;
        struct stat status {};
        if (name == "." || name == "..") continue;
        if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // removed
        entries.push_back({name, S_ISDIR(status.st_mode), status.st_size,
                           static_cast<double>(status.st_mtim.tv_sec), status.st_mode});
    }
    std::sort(entries.begin(), entries.end(),
              [](const ShareEntry& a, const ShareEntry& b) { return a.name < b.name; });
    return entries;
}

// An error begins with the path of the directory that it is about, below the first one.
sys::Result<void> add_files(int directory, const std::string& below,
                            std::vector<ShareEntry>& files) {
    auto entries = entries_of(directory);
    if (!entries) return below.empty() ? entries.error() : entries.error().in(below);
    for (ShareEntry& entry : *entries) {
        const std::string name = entry.name;
        entry.name = below.empty() ? name : below + "/" + name;
        if (!entry.is_directory) {
            files.push_back(std::move(entry));
            continue;
        }
        // Another user may have put a link in its place meanwhile.
        const sys::UniqueFd next(
            ::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!next && errno == ENOENT) continue;
        if (!next) return sys::errno_error(entry.name);
        if (auto done = add_files(next.get(), entry.name, files); !done) return done;
    }
    return {};
}

}  // namespace

sys::Result<std::vector<ShareEntry>> files_below(int directory) {
    std::vector<ShareEntry> files;
    if (auto done = add_files(directory, "", files); !done) return done.error();
    return files;
}

sys::Result<std::vector<ShareEntry>> ShareFiles::list(const std::string& path) const {
    const auto directory = open_directory(path, For::reading);
    if (!directory) return directory.error();
    auto entries = entries_of(directory->get());
    if (!entries) return entries.error().in(root_ + "/" + path);
    return entries;
}

sys::Result<std::vector<ShareEntry>> ShareFiles::tree(const std::string& path) const {
    const auto directory = open_directory(path, For::reading);
    if (!directory) return directory.error();
    auto files = files_below(directory->get());
    if (!files) return files.error().in(root_ + "/" + path);
    return files;
}

}  // namespace batchai::cli
