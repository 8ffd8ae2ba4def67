// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/environment.hpp"

#include <unistd.h>

#include <string_view>

namespace batchai::launcher::env {

Environment current() {
    Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return environment;
}

std::string value_of(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

}  // namespace batchai::launcher::env
