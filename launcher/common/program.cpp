// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "job/expand.hpp"

namespace batchai::launcher {

InProgram program_of(const std::vector<Program>& programs, int rank) {
    int number = 0;
    for (const Program& program : programs) {
        if (rank < program.ranks) return {&program, rank, number};
        rank -= program.ranks;
        ++number;
    }
    return {&programs.back(), 0, number - 1};
}

bool names_hosts(const std::vector<Program>& programs) {
    return std::any_of(programs.begin(), programs.end(), [](const Program& program) {
        return std::any_of(program.variables.begin(), program.variables.end(), [](const auto& v) {
            return v.second.find("{hosts:") != std::string::npos ||
                   v.second.find("{json:") != std::string::npos;
        });
    });
}

namespace {

// HOST:PORT of the ranks of a program, or of several whose names are separated by commas.
std::vector<std::string> hosts_of(std::string_view names, const std::vector<Program>& programs,
                                  const std::vector<std::string>& workers) {
    std::vector<std::string> hosts;
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        std::size_t rank = 0;
        for (const Program& program : programs) {
            for (int i = 0; i < program.ranks; ++i, ++rank) {
                if (program.name == name && rank < workers.size()) hosts.push_back(workers[rank]);
            }
        }
    }
    return hosts;
}

// The value of a field in braces; nothing if the field is not one of ours.
std::optional<std::string> value_of_field(std::string_view field,
                                          const std::vector<Program>& programs, int rank,
                                          const Meeting& meeting) {
    const InProgram own = program_of(programs, rank);
    if (field == "index") return std::to_string(own.program->first_index + own.place);
    if (field == "place") return std::to_string(own.place);
    if (field == "first") return meeting.first;
    if (field == "launch") return meeting.launch;
    if (field.starts_with("hosts:")) {
        return fmt::format("{}",
                           fmt::join(hosts_of(field.substr(6), programs, meeting.workers), ","));
    }
    if (field.starts_with("json:")) {
        const auto hosts = hosts_of(field.substr(5), programs, meeting.workers);
        return hosts.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(hosts, "\",\""));
    }
    return std::nullopt;
}

}  // namespace

std::string fill_in(std::string_view text, const std::vector<Program>& programs, int rank,
                    const Meeting& meeting) {
    std::string result;
    while (!text.empty()) {
        const std::size_t brace = text.find('{');
        result += text.substr(0, brace);
        if (brace == text.npos) break;
        text.remove_prefix(brace + 1);
        const std::size_t end = text.find('}');
        const auto value = end == text.npos
                               ? std::optional<std::string>()
                               : value_of_field(text.substr(0, end), programs, rank, meeting);
        result += value.value_or("{");
        if (value) text.remove_prefix(end + 1);
    }
    return result;
}

std::string error_file(const std::vector<Program>& programs, int rank) {
    constexpr std::string_view kStream = "{stream}";
    const std::string& output = program_of(programs, rank).program->output;
    std::string name = fill_in(output.substr(output.rfind('/') + 1), programs, rank, {});
    const std::size_t stream = name.find(kStream);
    return stream == name.npos ? name : name.replace(stream, kStream.size(), "stderr");
}

void add_variables(env::Environment& environment, const std::vector<Program>& programs, int rank,
                   const Meeting& meeting) {
    const Program& program = *program_of(programs, rank).program;
    env::Environment own = program.environment;
    for (const auto& [name, value] : program.variables) {
        own[name] = job::expand(fill_in(value, programs, rank, meeting), environment);
    }
    for (const auto& [name, value] : own) environment[name] = value;
}

}  // namespace batchai::launcher
