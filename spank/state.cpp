// SPDX-License-Identifier: Apache-2.0
#include "spank/state.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool State::read(int directory, uint32_t restart) {
    Descriptor file(openat(directory, kStateFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!file || fstat(file.get(), &info) != 0 || info.st_size <= 0 || info.st_size > kStateMaximum)
        return false;
    free(text_);
    text_ = static_cast<char*>(malloc(static_cast<size_t>(info.st_size) + 1));
    environment_ = nullptr;
    if (!text_) return false;
    const ssize_t length = ::read(file.get(), text_, static_cast<size_t>(info.st_size));
    if (length != info.st_size) return false;
    text_[length] = '\0';
    end_ = text_ + length;
    const char* entry = text_;
    while (entry < end_ && *entry) entry = next(entry);
    environment_ = entry < end_ ? entry + 1 : end_;
    return strtoul(field("restart"), nullptr, 10) == restart;
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
        const char* text = field(kOptionNames[i]);
        options.value[i] = *text ? text : nullptr;
    }
    return options;
}

int open_job_directory(uint32_t job) {
    char path[64];
    snprintf(path, sizeof path, "%s/%u", kJobsDirectory, job);
    return open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_PATH);
}

}  // namespace batchai::spank
