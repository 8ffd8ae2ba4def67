// SPDX-License-Identifier: Apache-2.0
#include "spank/once.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "spank/protocol.hpp"

namespace batchai::spank {
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
