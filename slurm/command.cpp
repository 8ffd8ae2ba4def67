// SPDX-License-Identifier: Apache-2.0
#include "slurm/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "sys/paths.hpp"
#include "sys/text.hpp"

namespace batchai::slurm {
namespace {

// "sbatch: error: why" becomes "why".
std::string without_prefix(std::string line) {
    for (const std::string_view prefix : {"error: ", "fatal: "}) {
        const auto at = line.find(prefix);
        if (at != std::string::npos) return line.substr(at + prefix.size());
    }
    return line;
}

}  // namespace

sys::Result<std::string> find_command(const std::string& name) {
    std::string path = sys::program_on_path(name);
    if (!path.empty()) return path;
    const auto directory = std::filesystem::path(BATCHAI_SRUN).parent_path();  // empty in the wheel
    path = directory / name;
    if (!directory.empty() && ::access(path.c_str(), X_OK) == 0) return path;
    const std::string where = directory.empty() ? "" : ", and not in " + directory.string();
    return sys::Error{name + ": not on the PATH" + where +
                      ": load Slurm's module, or install its client commands"};
}

std::vector<std::string> environment_without(const std::vector<std::string_view>& beginnings) {
    std::vector<std::string> kept;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (std::none_of(beginnings.begin(), beginnings.end(),
                         [&](std::string_view beginning) { return text.starts_with(beginning); }))
            kept.emplace_back(text);
    }
    return kept;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
}

sys::Result<std::string> ask(const Call& call) {
    const auto path = find_command(call.name);
    if (!path) return path.error();
    sys::Program program{{*path}, environment_without(call.unset)};
    program.argv.insert(program.argv.end(), call.arguments.begin(), call.arguments.end());
    program.environment->insert(program.environment->end(), call.set.begin(), call.set.end());
    auto done = sys::run(std::move(program), call.input, call.limit);
    if (!done) return done.error().in(call.name);
    if (done->status == 0) return std::move(done->out);
    const std::string why = reason(done->err);
    return sys::Error{
        fmt::format("{}: {}", call.name, why.empty() ? fmt::format("exit {}", done->status) : why)};
}

sys::Result<std::vector<std::string>> ask_lines(const Call& call) {
    const auto text = ask(call);
    if (!text) return text.error();
    return lines_of(*text);
}

// The first line about batchai or an unreachable slurmctld, or else the last error, or else the
// first line.
std::string reason(const std::string& text) {
    std::istringstream lines(text);
    std::string best;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("unrecognized option '--batchai-job") != std::string::npos)
            return "it does not know --batchai-job: add the line of spank_batchai.so to "
                   "plugstack.conf, or run the job without mounts: --without-plugin";
        if (line.find("Unable to contact slurm controller") != std::string::npos)
            return "Slurm's controller (slurmctld) does not answer: try again later";
        if (line.find("batchai") != std::string::npos) return without_prefix(line);
        if (line.find("error:") != std::string::npos) best = line;
    }
    return without_prefix(best.empty() ? sys::first_line(text) : best);
}

Call squeue(const std::vector<std::string>& options) {
    // --array: a line for each task that waits, not one for all of them.
    Call call{
        "squeue", {"--noheader", "--all", "--array"}, {"SQUEUE_", kTimeFormat}, {kTimesInSeconds}};
    call.arguments.insert(call.arguments.end(), options.begin(), options.end());
    return call;
}

sys::Result<std::string> configuration() {
    return ask({"scontrol", {"show", "config"}, {kCluster}});
}

std::string value_of(const std::string& config, const std::string& key) {
    std::istringstream lines(config);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find(" = ");
        if (equals != line.npos && line.starts_with(key + " ")) return line.substr(equals + 3);
    }
    return {};
}

}  // namespace batchai::slurm
