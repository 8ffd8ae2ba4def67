// SPDX-License-Identifier: Apache-2.0
//
// DeathNotice: the cause of an agent's death, reported by its guard. The agent's connection to the
// root ends with the agent. So the guard writes a line to its standard error, which reaches the
// root through srun or a local agent's pipe. A node that is down sends none. Pure, for any thread.
#pragma once

#include <optional>
#include <string>

namespace batchai::launcher {

struct DeathNotice {
    std::string node;
    std::string sentence;  // "the agent on n2 died of SIGSEGV"

    DeathNotice(std::string of_node, int signal);
    // Parses a line that say() has made. Empty: it is another line.
    static std::optional<DeathNotice> from_line(const std::string& line);

  private:
    DeathNotice() = default;
};

}  // namespace batchai::launcher
