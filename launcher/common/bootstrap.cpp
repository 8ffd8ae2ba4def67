// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/bootstrap.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>
#include <iomanip>
#include <sstream>

namespace batchai::launcher {

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

}  // namespace batchai::launcher
