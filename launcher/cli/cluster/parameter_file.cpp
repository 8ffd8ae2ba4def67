// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/cluster/parameter_file.hpp"

#include "job/spec.hpp"
#include "sys/file.hpp"

namespace batchai::cli {

using nlohmann::json;

sys::Result<json> read_parameters(const std::string& file) {
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) return text.error();
    try {
        json document = json::parse(*text);
        if (!document.is_object()) return sys::Error{file + ": expected a JSON object"};
        const auto properties = document.find("properties");
        if (properties == document.end()) return document;
        if (!properties->is_object()) return sys::Error{file + ": properties: expected an object"};
        return *properties;
    } catch (const json::parse_error& error) {
        return sys::Error{file + ": not JSON: " + error.what()};
    }
}

json parameter(const json& parameters, const std::string& path) {
    const json::json_pointer place("/" + path);
    return parameters.contains(place) ? parameters.at(place) : json();
}

std::string text_parameter(const json& parameters, const std::string& path) {
    const json value = parameter(parameters, path);
    return value.is_string() ? value.get<std::string>() : "";
}

void take_text(std::string& value, const json& parameters, const std::string& path) {
    if (value.empty()) value = text_parameter(parameters, path);
}

void take_number(std::optional<int>& value, const json& parameters, const std::string& path) {
    const json found = parameter(parameters, path);
    if (!value && found.is_number_integer()) value = found.get<int>();
}

}  // namespace batchai::cli
