// SPDX-License-Identifier: Apache-2.0
//
// The environment variables of a process, as a value.
#pragma once

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>

namespace batchai::launcher::env {

using Environment = std::map<std::string, std::string>;

// The variables of this process.
inline Environment current() {
    Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return environment;
}

// Empty if it is not set.
inline std::string value_of(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

}  // namespace batchai::launcher::env
