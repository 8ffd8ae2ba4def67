// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/message.hpp"

#include <fmt/format.h>

#include <csignal>

#include "launcher/common/signals.hpp"

namespace batchai::launcher {

std::optional<std::string> other_release(sys::Reader hello, const std::string& version) {
    std::string its_version, name;
    hello(its_version, name);
    if (!hello.ok() || its_version == version) return std::nullopt;
    return fmt::format("{} runs version {} of batchai-launch, not {}", name, its_version, version);
}

std::string describe(const RankEnd& end) {
    const bool killed = end.how == RankEnd::How::signaled && end.code == SIGKILL;
    const std::string memory =
        !end.memory ? ""
        : killed    ? ", for lack of memory"
                    : "; the kernel has killed one of its node's processes for lack of memory";
    switch (end.how) {
        case RankEnd::How::exited:
            return fmt::format("exited with code {} after {:.1f} s{}", end.code, end.ran, memory);
        case RankEnd::How::signaled:
            return fmt::format("was killed by signal {} ({}){} after {:.1f} s{}", end.code,
                               signal_name(end.code), end.core ? ", core dumped," : "", end.ran,
                               memory);
        case RankEnd::How::not_started:
            return "could not be started: " + end.message;
        case RankEnd::How::aborted:
            return fmt::format("aborted the job with code {}{}{}", end.code,
                               end.message.empty() ? "" : ": ", end.message);
    }
    return {};
}

}  // namespace batchai::launcher
