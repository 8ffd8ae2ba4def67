// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/reader.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>
#include <random>

namespace batchai::coll {

// A child of fork() has a number of its own.
ReadMark ReadMark::of_this_process() {
    static std::mutex mutex;
    static std::uint64_t number = 0;
    static pid_t owner = 0;
    const std::lock_guard lock(mutex);
    if (owner != ::getpid()) {
        std::random_device random;
        number = std::uint64_t{random()} << 32 | random();
        owner = ::getpid();
    }
    return {owner, reinterpret_cast<std::uintptr_t>(&number), number};
}

bool Reader::reaches_all() const {
    for (std::size_t rank = 0; rank < marks_.size(); ++rank) {
        const ReadMark& mark = marks_[rank];
        std::uint64_t number = 0;
        const int error = read(static_cast<int>(rank), &number,
                               std::bit_cast<const void*>(mark.address), sizeof number);
        if (error != 0 || number != mark.number) return false;
    }
    return true;
}

int Reader::read(int local_rank, void* to, const void* from, std::size_t bytes) const {
    reads_.fetch_add(1, std::memory_order_relaxed);
    constexpr std::size_t kMost = 1u << 30;  // a call reads at most 2 GiB
    const auto pid = static_cast<pid_t>(marks_[static_cast<std::size_t>(local_rank)].pid);
    auto* out = static_cast<std::byte*>(to);
    auto* in = static_cast<std::byte*>(const_cast<void*>(from));
    while (bytes > 0) {
        const std::size_t wanted = std::min(bytes, kMost);
        const iovec here{out, wanted}, there{in, wanted};
        const ssize_t n = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EFAULT;
        out += n;
        in += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return 0;
}

bool Reader::is_readable(const void* data, std::size_t bytes) {
    if (bytes == 0) return true;
    auto* first = static_cast<std::byte*>(const_cast<void*>(data));
    std::byte ends[2];
    const iovec here{ends, sizeof ends};
    const iovec there[] = {{first, 1}, {first + (bytes - 1), 1}};
    return ::process_vm_readv(::getpid(), &here, 1, there, 2, 0) == sizeof ends;
}

}  // namespace batchai::coll
