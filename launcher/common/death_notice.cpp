// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/death_notice.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "launcher/common/signals.hpp"

namespace batchai::launcher {
namespace {

constexpr std::string_view kProgram = "batchai-launch: ", kBegin = "the agent on ",
                           kMiddle = " died of ";

}  // namespace

DeathNotice::DeathNotice(std::string of_node, int signal)
    : node(std::move(of_node)),
      sentence(fmt::format("{}{}{}{}", kBegin, node, kMiddle, signal_name(signal))) {}

std::optional<DeathNotice> DeathNotice::from_line(const std::string& line) {
    if (!line.starts_with(kProgram)) return std::nullopt;
    DeathNotice notice;
    notice.sentence = line.substr(kProgram.size());
    const std::size_t middle = notice.sentence.find(kMiddle);
    if (!notice.sentence.starts_with(kBegin) || middle == std::string::npos) return std::nullopt;
    notice.node = notice.sentence.substr(kBegin.size(), middle - kBegin.size());
    return notice;
}

}  // namespace batchai::launcher
