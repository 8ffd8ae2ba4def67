// SPDX-License-Identifier: Apache-2.0
//
// Sink: writes pieces to a descriptor in order, in libuv's thread pool. So a file server that does
// not answer, or a terminal on hold, stops the ranks' output but never the root's control of the
// job. A file that cannot be written does not end a job: the output continues in a file on this
// node.
#pragma once

#include <uv.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class Sink {
  public:
    struct Target {
        int fd = -1;       // stays the caller's
        std::string name;  // the file, as its user knows it
    };
    // The output after a failure. kept: it continues in a file on this node. unread: its reader has
    // ended. unsynced: it was written, but may never reach the disk. returned: the part in the file
    // on this node is in its own file after all.
    enum class Rest : std::uint8_t { kept, lost, unread, unsynced, returned };
    struct Failure {
        std::string name;  // of the file that could not be written
        std::string why;
        Rest rest = Rest::lost;
        std::string kept;  // the file on this node
    };
    // Calls on_failure when a failure happens.
    Sink(Loop& loop, Target target, std::function<void(const Failure&)> on_failure);
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    void write(std::string bytes, std::function<void()> on_written);
    // The target could not be opened: everything goes to a file on this node.
    void give_up(const std::string& why);
    // After the last piece: a file is synced, because a file server may say only then that it has
    // not stored the data. Output kept on this node is appended to the file if the file can be
    // written again; on_failure reports this.
    void finish();
    // While it is not, a thread of the pool may be using it.
    bool idle() const { return !busy_ && queue_.empty(); }
    // Called when the last piece was written, or synced.
    void set_on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }

    std::uint64_t bytes_written() const { return bytes_written_; }
    const Target& target() const { return target_; }

  private:
    struct Piece {
        std::string bytes;
        std::function<void()> on_written;
    };
    // In one write: so many pieces, and so many bytes, for a slow reader to be seen reading.
    static constexpr std::size_t kTogether = 64, kBytes = 64 << 10;

    void next();
    void taken();
    void written(ssize_t size);
    bool wait();
    bool may_be_back() const;
    void conclude();
    void sync();
    void put_back();
    void failed(const std::string& why, bool no_reader);

    Loop& loop_;
    Target target_;
    std::function<void(const Failure&)> on_failure_;
    int first_fd_ = -1;  // the target's, once it has failed
    std::string first_name_;
    sys::UniqueFd kept_;
    bool is_back_ = false;  // what was kept is in the target
    std::function<void()> on_idle_;
    std::deque<Piece> queue_;
    std::size_t offset_ = 0;  // within the first piece
    std::uint64_t bytes_written_ = 0;
    bool busy_ = false, broken_ = false;
    bool finishing_ = false, unsynced_ = false;
    std::unique_ptr<Poll> writable_;  // while the target takes nothing
    uv_fs_t request_{};
    uv_work_t work_{};
};

// Of this process: its file, if it is one.
Sink::Target standard_stream(int fd);

// "FILE: no space left on device; the ranks' output goes on in n1:/var/tmp/..."
std::string describe(const Sink::Failure& failure, const std::string& node);

// "n1:/var/tmp/..." if what was kept there is in its file after all; else empty.
std::string returned_from(const Sink::Failure& failure, const std::string& node);

}  // namespace batchai::launcher
