// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

namespace batchai::launcher {
namespace {

rlim_t process_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NPROC, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

std::string too_many() {
    return fmt::format(
        "the processes and threads here have reached the user's limit (ulimit -u: {}) or that of a "
        "cgroup (pids.max): raise it",
        process_limit());
}

// The threads of libuv's pool, and PMIx's thread.
constexpr std::size_t kThreads = 5;

bool get_threads() {
    std::latch done(1);
    std::vector<std::jthread> threads;
    bool all = true;
    try {
        while (threads.size() < kThreads) threads.emplace_back([&] { done.wait(); });
    } catch (const std::system_error&) {
        all = false;
    }
    done.count_down();
    return all;
}

}  // namespace

sys::Error fork_error(int code) {
    if (code == EAGAIN && process_limit() != RLIM_INFINITY)
        return sys::Error{"fork: " + too_many()};
    return sys::errno_error("fork", code);
}

sys::Result<void> check_machine() {
    if (::access("/proc/self/exe", F_OK) != 0) {
        return sys::Error{"/proc is not mounted here: mount -t proc proc /proc"};
    }
    constexpr rlim_t kPlenty = 4096;  // with a limit that high, starting threads is not tried
    if (process_limit() < kPlenty && !get_threads()) return sys::Error{too_many()};
    return {};
}

}  // namespace batchai::launcher
