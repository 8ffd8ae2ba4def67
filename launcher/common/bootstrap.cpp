// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/bootstrap.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <utility>

#include "launcher/common/signals.hpp"

namespace batchai::launcher {
namespace {

// The parts of a death notice.
constexpr std::string_view kProgram = "batchai-launch: ", kBegin = "the agent on ",
                           kMiddle = " died of ";

}  // namespace

std::string random_text() {
    std::array<unsigned char, 32> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        std::abort();  // not for 32 bytes; better no job than a guessable key
    }
    std::string text;
    for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

std::string encode(const Bootstrap& bootstrap) {
    std::string endpoints;
    for (const Endpoint& one : bootstrap.endpoints) {
        endpoints += (endpoints.empty() ? "" : ",") + text_of(one);
    }
    std::ostringstream directory;
    directory << std::quoted(bootstrap.owned_directory);  // it may contain blanks
    return fmt::format("batchai-launch-agent {} {} {} {} {} {} {} {}\n", bootstrap.key, endpoints,
                       bootstrap.node, bootstrap.name.empty() ? "-" : bootstrap.name,
                       bootstrap.job_id.empty() ? "-" : bootstrap.job_id, directory.str(),
                       bootstrap.tree.nodes, bootstrap.tree.radix);
}

std::optional<Bootstrap> decode_bootstrap(const std::string& line) {
    std::istringstream in(line);
    std::string magic, endpoints, name, job_id;
    Bootstrap bootstrap;
    in >> magic >> bootstrap.key >> endpoints >> bootstrap.node >> name >> job_id >>
        std::quoted(bootstrap.owned_directory) >> bootstrap.tree.nodes >> bootstrap.tree.radix;
    if (!in || bootstrap.tree.radix < 1 || magic != "batchai-launch-agent") return std::nullopt;
    std::istringstream list(endpoints);
    for (std::string one; std::getline(list, one, ',');) {
        const std::size_t colon = one.rfind(':');
        if (colon == std::string::npos) return std::nullopt;
        bootstrap.endpoints.push_back({one.substr(0, colon), std::atoi(one.c_str() + colon + 1)});
    }
    if (name != "-") bootstrap.name = name;
    if (job_id != "-") bootstrap.job_id = job_id;
    return bootstrap;
}

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
