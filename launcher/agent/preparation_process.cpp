// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/preparation_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "launcher/common/exit_code.hpp"

namespace batchai::launcher {

SpawnFailure PreparationProcess::start(Loop& loop, SpawnRequest request, const std::string& input) {
    request.with_input = true;
    Spawned spawned;
    if (auto failure = spawn(request, spawned); failure.code != 0) return failure;
    pid_ = spawned.pid;
    output_ = std::move(spawned.output);
    error_ = std::move(spawned.error);
    input_ =
        std::make_unique<InputPipe>(loop, std::move(spawned.input), [this] { input_->write({}); });
    input_->write(input);
    return {};
}

void PreparationProcess::signal(int signal) const {
    ::kill(-pid_, signal);
}

std::optional<AgentError> PreparationProcess::end(int status, const std::string& node) {
    pid_ = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
    // batchai-prep prints one line for an error and has logged it itself.
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(error_.get(), bytes.data(), bytes.size());
    const std::string said(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (!said.empty()) return AgentError{said.substr(0, said.find('\n')), kPreparationFailed, true};
    const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                : fmt::format("exit code {}", WEXITSTATUS(status));
    return AgentError{
        fmt::format("batchai-launch: {}: job preparation failed without an error message ({})",
                    node, how),
        kOwnFailure, false};
}

}  // namespace batchai::launcher
