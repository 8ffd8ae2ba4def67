// SPDX-License-Identifier: Apache-2.0
//
// Sink: writes pieces to a descriptor in order, in libuv's thread pool. A file server that does not
// answer, or a stopped terminal, delays the ranks' output but not the root's control of the job. If
// a file cannot be written, the job goes on and the output continues in a file on this node.
#pragma once

#include <uv.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class Sink {
  public:
    struct Target {
        int fd = -1;       // the caller owns it
        std::string name;  // the file, by the user's name for it
    };
    // What becomes of output after a failure. kept: it continues in a file on this node. lost: it
    // is dropped. unread: its reader has ended. unsynced: it was written, but may not have reached
    // the disk. returned: the part in the file on this node was appended to its own file.
    enum class Rest : std::uint8_t { kept, lost, unread, unsynced, returned };
    struct Failure {
        std::string name;  // of the file that could not be written
        std::string why;
        Rest rest = Rest::lost;
        std::string kept;  // the file on this node
    };
    // on_failure is called when a failure happens.
    Sink(Loop& loop, Target target, std::function<void(const Failure&)> on_failure);
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    void write(std::string bytes, std::function<void()> on_written);
    // Call it if the target could not be opened: all output goes to a file on this node.
    void give_up(const std::string& why);
    // Call it after the last piece. It syncs a file, because a file server may report only then
    // that it has not stored the data. If output was kept on this node and the file can be written
    // again, the output is appended to the file; on_failure reports this.
    void finish();
    // While it is false, a thread of the pool may use the descriptor.
    bool idle() const { return !busy_ && queue_.empty(); }
    // The callback is called when the last piece is written or synced.
    void set_on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }

    std::uint64_t bytes_written() const { return bytes_written_; }
    const Target& target() const { return target_; }

  private:
    struct Piece {
        std::string bytes;
        std::function<void()> on_written;
    };
    // The most pieces and bytes of one write. Small writes show that a slow reader still reads.
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
    int first_fd_ = -1;  // the target's descriptor, after a failure
    std::string first_name_;
    sys::UniqueFd kept_;
    bool is_back_ = false;  // the kept output is in the target
    std::function<void()> on_idle_;
    std::deque<Piece> queue_;
    std::size_t offset_ = 0;  // within the first piece
    std::uint64_t bytes_written_ = 0;
    bool busy_ = false, broken_ = false;
    bool finishing_ = false, unsynced_ = false;
    std::unique_ptr<Poll> writable_;  // while the target accepts nothing
    uv_fs_t request_{};
    uv_work_t work_{};
};

// The target for a descriptor of this process. Its name is the file's path, if it is a file.
Sink::Target standard_stream(int fd);

// "FILE: no space left on device; the ranks' output goes on in n1:/var/tmp/..."
std::string describe(const Sink::Failure& failure, const std::string& node);

// The failure as a message to the root.
Misplaced misplaced_by(const Sink::Failure& failure, const std::string& node);

}  // namespace batchai::launcher
