// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/job_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>

#include "spank/helper/files.hpp"
#include "spank/protocol.hpp"
#include "sys/file.hpp"

namespace batchai::spank {
namespace {

constexpr char kNewFile[] = "new";

std::string directory_path(const std::string& name) {
    return std::string(kJobsDirectory) + "/" + name;
}

bool is_at(int fd, const std::string& path) {
    struct stat opened = {};
    struct stat found = {};
    return fstat(fd, &opened) == 0 && lstat(path.c_str(), &found) == 0 &&
           opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
}

// Locks the directory. An empty descriptor: another process has the lock, or the directory is gone.
// The process that had the lock before may have removed it or set it aside.
sys::UniqueFd open_locked(const std::string& path, bool wait) {
    sys::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const int lock = wait ? LOCK_EX : LOCK_EX | LOCK_NB;
    if (fd && (flock(fd.get(), lock) != 0 || !is_at(fd.get(), path))) fd.reset();
    return fd;
}

}  // namespace

sys::Result<JobDirectory> JobDirectory::create(const std::string& name) {
    const std::string path = directory_path(name);
    for (int attempt = 0; attempt < 100; ++attempt) {
        if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return sys::errno_error(path);
        auto fd = open_locked(path, true);
        if (fd) return JobDirectory(name, std::move(fd));
    }
    return sys::Error{path + ": cannot be locked"};
}

std::optional<JobDirectory> JobDirectory::open(const std::string& name, bool wait) {
    auto fd = open_locked(directory_path(name), wait);
    if (!fd) return std::nullopt;
    return JobDirectory(name, std::move(fd));
}

std::vector<std::string> JobDirectory::all() {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(kJobsDirectory), closedir);
    while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
        if (is_file_name(entry->d_name)) names.emplace_back(entry->d_name);
    }
    return names;
}

std::string JobDirectory::path(const char* file) const {
    return directory_path(name_) + "/" + file;
}

Fields JobDirectory::state() const {
    std::string text = read_or_empty(fd(), kStateFile);
    // Only the plugin reads the environment after the empty string.
    const auto end = text.find(std::string_view("\0\0", 2));
    if (end != std::string::npos) text.resize(end + 1);
    auto fields = Fields::parse(text);
    return fields ? *std::move(fields) : Fields();
}

sys::Result<void> JobDirectory::write_state(const Fields& fields,
                                            const std::vector<std::string>& environment) const {
    std::string text = fields.text();
    text.push_back('\0');
    for (const auto& entry : environment) text.append(entry).push_back('\0');
    if (text.size() > kStateMaximum) return sys::Error{"the job's environment is over 1 MiB"};
    return replace(kStateFile, text);
}

sys::Result<void> JobDirectory::replace(const char* name, std::string_view text) const {
    sys::UniqueFd file(
        openat(fd(), kNewFile, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return sys::errno_error(path(kNewFile));
    if (auto written = sys::write_all(file.get(), text); !written)
        return written.error().in(path(kNewFile));
    if (renameat(fd(), kNewFile, fd(), name) != 0) return sys::errno_error(path(name));
    return {};
}

sys::Result<void> JobDirectory::append(const char* file, const Fields& entries) const {
    const sys::UniqueFd end(
        openat(fd(), file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!end) return sys::errno_error(path(file));
    if (auto written = sys::write_all(end.get(), entries.text()); !written)
        return written.error().in(path(file));
    return {};
}

Fields JobDirectory::read(const char* file) const {
    std::string text = read_or_empty(fd(), file);
    text.resize(text.rfind('\0') + 1);  // drop an entry whose writer was interrupted
    auto fields = Fields::parse(text);
    return fields ? *std::move(fields) : Fields();
}

sys::Result<void> JobDirectory::touch(const char* file) const {
    const sys::UniqueFd created(
        openat(fd(), file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!created) return sys::errno_error(path(file));
    return {};
}

bool JobDirectory::has(const char* file) const {
    return faccessat(fd(), file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

sys::Result<void> JobDirectory::set_aside() {
    if (auto marked = touch(kEndingFile); !marked) return marked;
    for (int number = 1; number < 1000; ++number) {
        const std::string free = name_ + "." + std::to_string(number);
        if (renameat2(AT_FDCWD, directory_path(name_).c_str(), AT_FDCWD,
                      directory_path(free).c_str(), RENAME_NOREPLACE) == 0) {
            name_ = free;
            return {};
        }
        if (errno != EEXIST) break;
    }
    return sys::errno_error(directory_path(name_));
}

bool JobDirectory::is_aside(const std::string& name) {
    return name.find('.', name.rfind('-') + 1) != std::string::npos;
}

void JobDirectory::clear() const {
    // Remove "ending" last: as long as it exists, a sweep tries again.
    for (const char* file : {kStateFile, kNewFile, kWitnessFile, kPreparationFile, kDaemonsFile,
                             kPinFile, kEndingFile})
        unlinkat(fd(), file, 0);
}

void JobDirectory::remove() const {
    clear();
    rmdir(directory_path(name_).c_str());
}

}  // namespace batchai::spank
