// SPDX-License-Identifier: Apache-2.0
//
// PreparationProcess: runs the job preparation of this node (batchai-prep) if the plugin has not
// done so.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "launcher/agent/input.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class PreparationProcess {
  public:
    SpawnFailure start(Loop& loop, SpawnRequest request, const std::string& input);
    bool is(pid_t pid) const { return pid > 0 && pid == pid_; }
    bool runs() const { return pid_ > 0; }
    // Signals its process group.
    void signal(int signal) const;
    // Call it when the process has ended. Returns the error, if any.
    std::optional<AgentError> end(int status, const std::string& node);

  private:
    pid_t pid_ = -1;
    std::unique_ptr<InputPipe> input_;
    sys::UniqueFd output_, error_;
};

}  // namespace batchai::launcher
