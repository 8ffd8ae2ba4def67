// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/aborts.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "collectives/common/no_signals.hpp"

namespace batchai::coll {

struct Aborts::Running {
    std::mutex lock;
    std::condition_variable changed;
    int threads = 0;

    void count(int more) {
        const std::scoped_lock held(lock);
        threads += more;
        changed.notify_all();
    }
};

void Aborts::begin(std::unique_ptr<StreamComm> comm, std::shared_ptr<Device> device) {
    if (running_ == nullptr) running_ = std::make_shared<Running>();
    // Owned by the new thread alone, so that nothing of it ends in this thread.
    struct Owned {
        std::shared_ptr<Device> device;
        std::unique_ptr<StreamComm> comm;  // must end before the device
    };
    auto* const owned = new Owned{std::move(device), std::move(comm)};
    running_->count(1);
    const NoSignals blocked;
    try {
        std::thread([owned, running = running_] {
            delete owned;
            running->count(-1);
        }).detach();
    } catch (const std::exception&) {
        running_->count(-1);
    }
}

void Aborts::wait(std::chrono::milliseconds limit) {
    if (running_ == nullptr) return;
    std::unique_lock held(running_->lock);
    running_->changed.wait_for(held, limit, [this] { return running_->threads == 0; });
}

}  // namespace batchai::coll
