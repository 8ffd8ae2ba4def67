// SPDX-License-Identifier: Apache-2.0
//
// DeathNotice: the cause of an agent's death, reported by its guard. The agent's connection to the
// root died with it. So the guard writes a line to its standard error, which srun, or the pipe of a
// local agent, carries to the root. A node that is down sends no notice. Pure; any thread.
#pragma once

#include <optional>
#include <string>

namespace batchai::launcher {

struct DeathNotice {
    std::string node;
    std::string sentence;  // "the agent on n2 died of SIGSEGV"

    DeathNotice(std::string of_node, int signal);
    // The line that say() makes of a sentence; empty: another line.
    static std::optional<DeathNotice> from_line(const std::string& line);

  private:
    DeathNotice() = default;
};

}  // namespace batchai::launcher
