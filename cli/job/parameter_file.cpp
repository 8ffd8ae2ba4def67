// SPDX-License-Identifier: Apache-2.0
#include "cli/job/parameter_file.hpp"

#include "cli/session.hpp"
#include "sys/file.hpp"

namespace batchai::cli {

using nlohmann::json;

std::optional<json> read_parameters(const std::string& file,
                                    std::vector<job::Finding> (*check)(std::string_view,
                                                                       const std::string&)) {
    const auto text = sys::read_file(file, job::kMaxJobBytes);
    if (!text) {
        fail(kBadInput, text.error());
        return std::nullopt;
    }
    const auto findings = check(*text, file);
    print_findings(findings);
    if (job::has_error(findings)) return std::nullopt;
    json document = json::parse(*text);
    const json properties = parameter(document, "properties");
    return properties.is_null() ? document : properties;
}

void print_findings(const std::vector<job::Finding>& findings) {
    for (const job::Finding& finding : findings)
        if (finding.severity == job::Finding::Severity::error)
            fail(kBadInput, finding.text());
        else
            note(finding.text());
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
