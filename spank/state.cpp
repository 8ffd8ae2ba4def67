// SPDX-License-Identifier: Apache-2.0
#include "spank/state.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/protocol.hpp"

namespace batchai::spank {

void Descriptor::reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
}

State::~State() {
    free(text_);
}

const char* State::next(const char* entry) {
    return entry + strlen(entry) + 1;
}

bool State::read(int directory, uid_t uid, uint32_t restart) {
    Descriptor file(openat(directory, kStateFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!file || fstat(file.get(), &info) != 0 || info.st_size <= 0 || info.st_size > kStateMaximum)
        return false;
    free(text_);
    text_ = static_cast<char*>(malloc(static_cast<size_t>(info.st_size) + 1));
    environment_ = end_ = nullptr;
    if (!text_) return false;
    const ssize_t length = ::read(file.get(), text_, static_cast<size_t>(info.st_size));
    if (length != info.st_size) return false;
    text_[length] = '\0';
    end_ = text_ + length;
    const char* entry = text_;
    while (entry < end_ && *entry) entry = next(entry);
    environment_ = entry < end_ ? entry + 1 : end_;
    return strtoul(field("uid"), nullptr, 10) == uid && *field("uid") &&
           strtoul(field("restart"), nullptr, 10) == restart;
}

const char* State::field(const char* name) const {
    const size_t length = strlen(name);
    for (const char* entry = text_; entry && entry < end_ && *entry; entry = next(entry))
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
    return "";
}

bool State::ready() const {
    return strcmp(field("result"), "ready") == 0;
}

bool State::failed() const {
    return strcmp(field("result"), "failed") == 0;
}

Options State::options() const {
    Options options;
    for (int i = 0; i < kOptionCount; ++i) {
        const char* text = field(kOptions[i].name);
        options.value[i] = *text ? text : nullptr;
    }
    return options;
}

JobName::JobName(const char* cluster, uint32_t job) {
    snprintf(text, sizeof text, "%.100s-%u", cluster, job);
}

int open_job_directory(const JobName& name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", kJobsDirectory, name.text);
    return open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_PATH);
}

namespace {

// A small file's text, zero-terminated. False: it cannot be read.
bool read_text(int at, const char* path, char* text, size_t size) {
    const Descriptor file(openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const ssize_t length = file ? ::read(file.get(), text, size - 1) : -1;
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

}  // namespace

bool has_witness(int directory) {
    char witness[256], path[64], stat[1024], boot[64];
    int pid = 0;
    char start[32] = "", name[64] = "";
    if (!read_text(directory, kWitnessFile, witness, sizeof witness) ||
        sscanf(witness, "%d %31s %63s", &pid, start, name) != 3)
        return false;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_text(AT_FDCWD, path, stat, sizeof stat) ||
        !read_text(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof boot) ||
        strncmp(boot, name, strlen(name)) != 0)
        return false;
    // The start is the 22nd field. The second, a name in brackets, can have anything in it.
    const char* field = strrchr(stat, ')');
    for (int number = 2; field && number < 22; ++number) field = strchr(field + 1, ' ');
    const size_t length = strlen(start);
    return field && strncmp(field + 1, start, length) == 0 && field[1 + length] == ' ';
}

namespace {

constexpr char kStarted[] = "started\n";
constexpr char kSucceeded[] = "ok\n";
constexpr char kFailed[] = "failed: ";

bool replace(int fd, const char* text) {
    const size_t length = strlen(text);
    return ftruncate(fd, 0) == 0 && pwrite(fd, text, length, 0) == static_cast<ssize_t>(length);
}

}  // namespace

bool Once::open(int directory) {
    lock_.reset(openat(directory, kPreparationFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    result_.reset(openat(directory, kPreparationFile, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    return lock_ && result_;
}

Once::Result Once::read(char* line, size_t size) const {
    line[0] = '\0';
    char text[kLineMaximum + sizeof kFailed] = {};
    const ssize_t length = pread(result_.get(), text, sizeof text - 1, 0);
    if (length == 0) return Result::none;
    if (strcmp(text, kStarted) == 0) return Result::started;
    if (strcmp(text, kSucceeded) == 0) return Result::succeeded;
    const size_t start = sizeof kFailed - 1;
    if (strncmp(text, kFailed, start) == 0)
        snprintf(line, size, "%.*s", static_cast<int>(strcspn(text + start, "\n")), text + start);
    return Result::failed;
}

bool Once::note_start() const {
    return replace(result_.get(), kStarted);
}

bool Once::note_success() const {
    return replace(result_.get(), kSucceeded);
}

bool Once::note_failure(const char* line) const {
    char text[kLineMaximum + sizeof kFailed];
    snprintf(text, sizeof text, "%s%s\n", kFailed, line);
    return replace(result_.get(), text);
}

bool Once::try_lock() const {
    return flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace batchai::spank
