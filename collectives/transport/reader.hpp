// SPDX-License-Identifier: Apache-2.0
//
// Reader: reads buffers of the node's other ranks that these have not shared (process_vm_readv).
// One copy then does, where two are needed through shared memory. The kernel pins every page that
// it reads. So reading is worth it for large pages, and for small ones only where pinning is fast:
// algorithm/faster.hpp measures that.
//
// The kernel allows it if this process could trace the other one. Yama can forbid that
// (kernel.yama.ptrace_scope), the other process can (it is not dumpable), and a seccomp filter can
// refuse the call. BATCHAI_COLL_READ=0 switches it off. XPMEM would map the other buffer, without
// pinning for each copy, but needs a kernel module that Debian does not have.
//
// Threading: const functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchai::coll {

// Where a process has a number, by which others see that they read the right process.
struct ReadMark {
    std::int64_t pid = 0;
    std::uint64_t address = 0, number = 0;

    static ReadMark of_this_process();
};

class Reader {
  public:
    static constexpr std::size_t kShortest = 128u << 10;

    // marks: of the node's ranks, by local rank. shortest: bytes of the shortest blocks for which
    // operations may use it.
    explicit Reader(std::vector<ReadMark> marks, std::size_t shortest = kShortest)
        : marks_(std::move(marks)), shortest_(shortest) {}

    // Whether this process can read all of the others.
    bool reaches_all() const;
    std::size_t shortest() const { return shortest_; }
    // Reads `bytes` of a local rank's memory. from: an address there. Returns 0, or errno: ESRCH if
    // the process has ended. Then a part of `to` may be written.
    int read(int local_rank, void* to, const void* from, std::size_t bytes) const;
    // Whether the kernel can read this process's memory there. It looks at the first and the last
    // byte: memory of devices cannot be read.
    static bool is_readable(const void* data, std::size_t bytes);

    // How often it has read from a rank, for tests.
    std::uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

  private:
    mutable std::atomic<std::uint64_t> reads_ = 0;
    std::vector<ReadMark> marks_;
    std::size_t shortest_;
};

}  // namespace batchai::coll
