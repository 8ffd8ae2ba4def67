// SPDX-License-Identifier: Apache-2.0
//
// GpuLoad: how busy the GPUs of the job on this node are, and how full their memory is, by NVIDIA's
// management library (NVML). The library is loaded at the first read(), if the node has it. A
// thread of the loop's pool asks it, because a broken GPU may block it. So read() returns what was
// known at the call before, at first nothing.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/agent/gpus.hpp"
#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"
#include "launcher/env/env.hpp"

namespace batchai::launcher {

class GpuLoad {
  public:
    // environment: the agent's, which says which GPUs are the job's. It outlives this object.
    GpuLoad(Loop& loop, const env::Environment& environment, std::string driver = kNvidiaGpus)
        : loop_(loop), environment_(environment), driver_(std::move(driver)) {}

    std::vector<GpuSample> read();

  private:
    struct Request;

    Loop& loop_;
    const env::Environment& environment_;
    const std::string driver_;
    std::shared_ptr<Request> request_;  // null until the first read()
};

}  // namespace batchai::launcher
