// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "launcher/env/env.hpp"

namespace batchai::launcher::env {
namespace {

using nlohmann::json;

// The noted names and values; an empty object if the variable does not have one.
json noted(const Environment& environment) {
    json found = json::parse(value_of(environment, kOfLaunch), nullptr, false);
    return found.is_object() ? found : json::object();
}

// dump() replaces bytes that are not UTF-8. Such a value no longer matches, so it counts as the
// user's.
void set_noted(Environment& environment, const json& all) {
    environment[kOfLaunch] = all.dump(-1, ' ', true, json::error_handler_t::replace);
}

// A variable that restricts the rank also holds for launches inside it.
bool is_restriction(const std::string& name) {
    return name == "CUDA_VISIBLE_DEVICES";
}

}  // namespace

void note_as_ours(Environment& environment, const std::string& name) {
    json all = noted(environment);
    all[name] = environment.at(name);
    set_noted(environment, all);
}

void note_new_as_ours(Environment& environment, const Environment& before) {
    json all = noted(environment);
    for (const auto& [name, value] : environment) {
        if (name != kOfLaunch && !before.contains(name) && !is_restriction(name)) all[name] = value;
    }
    set_noted(environment, all);
}

void leave_outer_launch(Environment& environment) {
    const json ours = noted(environment);
    for (const auto& [name, value] : ours.items()) {
        const auto found = environment.find(name);
        if (found != environment.end() && value == found->second) environment.erase(found);
    }
    environment.erase(kOfLaunch);
}

}  // namespace batchai::launcher::env
