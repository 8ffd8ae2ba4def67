// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files as strings. Reads have a limit. Writes replace a file at once or not
// at all. A file that is not regular (a FIFO, a device) is refused without waiting. Writes keep the
// rules of sys/user_path.hpp; reads follow every link, because nothing is published by a read.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

// open(2) for reading a regular file. With O_CLOEXEC, and O_NONBLOCK and O_NOCTTY, which have no
// effect on such a file.
Result<UniqueFd> open_regular(const std::string& path);

// All data from an open file. More than limit bytes are an error. Errors do not name the file.
Result<std::string> read_all(int fd, std::size_t limit);

// The file's bytes. More than limit bytes are an error.
Result<std::string> read_file(const std::string& path, std::size_t limit);

// The last whole lines of an open file, at most so many bytes; of a longer line, its end. Empty:
// the file is empty or cannot be read. It moves the file's offset.
std::string tail_of(int fd, std::size_t bytes);

// True if path is, or leads to, a regular file.
bool is_regular_file(const std::string& path);

// True if nothing exists at path. False if the user may not look.
bool is_missing(const std::string& path);

// A file under a temporary name in a directory. It is removed unless it is put in place. The caller
// keeps the directory's descriptor open meanwhile.
class PendingFile {
  public:
    // With mode, less the umask. Errors do not name the directory.
    static Result<PendingFile> create(int directory, mode_t mode);
    PendingFile(PendingFile&&) noexcept;
    PendingFile& operator=(PendingFile&&) = delete;
    ~PendingFile();

    int fd() const { return file_.get(); }

    // Waits until the file is on the disk, closes it and renames it. It replaces what is there.
    Result<void> put_in_place(const std::string& name);

  private:
    PendingFile(int directory, std::string temporary, UniqueFd file)
        : directory_(directory), temporary_(std::move(temporary)), file_(std::move(file)) {}
    int directory_;
    std::string temporary_;
    UniqueFd file_;
};

// Replaces the file at path with a PendingFile. A symbolic link at its end is replaced, too.
// Readers see the old file or the new one.
Result<void> write_file(const std::string& path, std::string_view text, mode_t mode);

// Appends text, with one write unless the disk is full; creates the file with mode, less the umask.
Result<void> append_file(const std::string& path, std::string_view text, mode_t mode);

// Writes all of text. Errors do not name the file.
Result<void> write_all(int fd, std::string_view text);

// Writes all of text, and closes the file. Errors do not name it.
Result<void> write_and_close(UniqueFd, std::string_view text);

}  // namespace batchai::sys
