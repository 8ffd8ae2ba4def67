// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/storage/share_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "launcher/cli/storage/atomic_copy.hpp"

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

}  // namespace

sys::Result<ShareFiles> ShareFiles::open(const std::string& root) {
    sys::UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!top) return sys::errno_error(root);
    return ShareFiles(root, std::move(top));
}

sys::Result<sys::UniqueFd> ShareFiles::open_below(const std::string& path, int flags) const {
    if (has_dots(path)) return bad_path(path);
    const SplitPath parts = split(path);
    const std::string relative = parts.name.empty() ? "." : joined(parts);
    struct open_how how {};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    sys::UniqueFd file(
        static_cast<int>(::syscall(SYS_openat2, top_.get(), relative.c_str(), &how, sizeof how)));
    if (file) return file;
    if (errno == EXDEV) return bad_path(path);
    return sys::errno_error(root_ + "/" + relative);
}

bool ShareFiles::is_directory(const std::string& path) const {
    return open_below(path, O_PATH | O_DIRECTORY).has_value();
}

bool ShareFiles::is_file(const std::string& path) const {
    return open_below(path, O_PATH).has_value() && !is_directory(path);
}

sys::Result<bool> ShareFiles::make_directory(const std::string& path) const {
    const SplitPath parts = split(path);
    if (parts.name.empty() || parts.name == "." || has_dots(path)) return bad_path(path);
    const auto parent = open_below(parts.parent, O_PATH | O_DIRECTORY);
    if (!parent) return parent.error();
    if (::mkdirat(parent->get(), parts.name.c_str(), 0777) == 0) return true;
    if (errno == EEXIST && is_directory(path)) return false;
    return sys::errno_error(root_ + "/" + joined(parts));
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
    const auto parent = open_below(parts.parent, O_PATH | O_DIRECTORY);
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
    const sys::UniqueFd from(::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!from) return sys::errno_error(source);
    if (has_dots(path)) return bad_path(path);
    SplitPath to = split(path);
    if (to.name.empty() || is_directory(path)) to = {joined(to), base_name(source)};
    const auto directory = open_below(to.parent, O_PATH | O_DIRECTORY);
    if (!directory) return directory.error();
    if (auto done = atomic_copy(from.get(), directory->get(), to.name, progress); !done)
        return done.error().in(source + " to " + root_ + "/" + joined(to));
    return joined(to);
}

sys::Result<std::string> ShareFiles::download(const std::string& path,
                                              const std::string& destination,
                                              const Progress& progress) const {
    const auto from = open_below(path, O_RDONLY | O_NONBLOCK);
    if (!from) return from.error();
    std::string directory = destination;
    std::string name = base_name(path);
    struct stat status {};
    const bool into = ::stat(destination.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (!into) {
        const auto slash = destination.rfind('/');
        name = slash == std::string::npos ? destination : destination.substr(slash + 1);
        directory = slash == std::string::npos ? "." : destination.substr(0, slash + 1);
    }
    if (name.empty()) return sys::errno_error(destination, ENOENT);
    const sys::UniqueFd to(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!to) return sys::errno_error(directory);
    if (auto done = atomic_copy(from->get(), to.get(), name, progress); !done)
        return done.error().in(path + " to " + destination);
    return into ? directory + "/" + name : destination;
}

sys::Result<std::vector<ShareEntry>> ShareFiles::list(const std::string& path) const {
    auto directory = open_below(path, O_RDONLY | O_DIRECTORY);
    if (!directory) return directory.error();
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory->get()), ::closedir);
    if (!stream) return sys::errno_error(path);
    const int fd = directory->release();  // the stream owns it now
    std::vector<ShareEntry> entries;
    while (const dirent* item = ::readdir(stream.get())) {
        const std::string name = item->d_name;
        struct stat status {};
        if (name == "." || name == "..") continue;
        if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // removed
        entries.push_back({name, S_ISDIR(status.st_mode), status.st_size,
                           static_cast<double>(status.st_mtim.tv_sec)});
    }
    std::sort(entries.begin(), entries.end(),
              [](const ShareEntry& a, const ShareEntry& b) { return a.name < b.name; });
    return entries;
}

sys::Result<void> ShareFiles::add_tree(const std::string& top, const std::string& below,
                                       std::vector<ShareEntry>& files) const {
    auto entries = list(top + "/" + below);
    if (!entries) return entries.error();
    for (ShareEntry& entry : *entries) {
        entry.name = below.empty() ? entry.name : below + "/" + entry.name;
        if (!entry.is_directory) {
            files.push_back(std::move(entry));
        } else if (auto done = add_tree(top, entry.name, files); !done) {
            return done;
        }
    }
    return {};
}

sys::Result<std::vector<ShareEntry>> ShareFiles::tree(const std::string& path) const {
    std::vector<ShareEntry> files;
    if (auto done = add_tree(path, "", files); !done) return done.error();
    return files;
}

}  // namespace batchai::cli
