// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/unshared.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace batchai::coll {
namespace {

struct Registry {
    std::mutex mutex;
    std::vector<int> descriptors;

    // Never destroyed: a process may fork while it exits.
    static Registry& get() {
        static auto* registry = new Registry;
        return *registry;
    }
    Registry() { ::pthread_atfork(before, after, in_child); }

  private:
    static void before() { get().mutex.lock(); }
    static void after() { get().mutex.unlock(); }
    static void in_child() {
        for (const int fd : get().descriptors) ::close(fd);
        get().descriptors.clear();
        after();
    }
};

}  // namespace

Unshared::Unshared(int fd) : fd_(fd) {
    Registry& registry = Registry::get();
    const std::scoped_lock lock(registry.mutex);
    registry.descriptors.push_back(fd);
}

Unshared::~Unshared() {
    Registry& registry = Registry::get();
    const std::scoped_lock lock(registry.mutex);
    const auto found = std::find(registry.descriptors.begin(), registry.descriptors.end(), fd_);
    if (found != registry.descriptors.end()) registry.descriptors.erase(found);
}

}  // namespace batchai::coll
