// SPDX-License-Identifier: Apache-2.0
//
// Runs Slurm's commands, which work with every supported release and with sites that wrap them.
// Root asks in ways of its own: spank/process.hpp and spank/helper/root/submission.hpp take
// no command from the PATH.
#pragma once

#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/result.hpp"
#include "sys/subprocess.hpp"

namespace batchai::slurm {

// The path of a command of Slurm's, such as srun: on the PATH, where a site may have its own sbatch
// and a user loads Slurm's module, else in the directory of BATCHAI_SRUN, the path that CMake was
// given or has found. This machine may have them elsewhere than the one where it was built.
sys::Result<std::string> find_command(const std::string& name);

struct Call {
    std::string name;
    std::vector<std::string> arguments;
    // The user's variables whose entries begin with one of these are not passed on.
    std::vector<std::string_view> unset = {};
    std::vector<std::string> set = {};  // "NAME=VALUE"
    std::string input = {};
    std::chrono::seconds limit = sys::kNoLimit;  // for the answer
};

// Without it, the command asks this machine's cluster, not the one that the user has chosen.
inline constexpr std::string_view kCluster = "SLURM_CLUSTERS=";
inline constexpr std::string_view kTimeFormat = "SLURM_TIME_FORMAT=";
inline constexpr const char* kTimesInSeconds = "SLURM_TIME_FORMAT=%s";

// A call of squeue without the options that the user's environment sets.
Call squeue(const std::vector<std::string>& options);

// What the command prints, if it ends with 0. An error has Slurm's reason.
sys::Result<std::string> ask(const Call&);
sys::Result<std::vector<std::string>> ask_lines(const Call&);
// The line of a Slurm command's stderr that gives the reason.
std::string reason(const std::string& text);

// The output of `scontrol show config`.
sys::Result<std::string> configuration();
// The value of a line "Key   = value"; empty if there is none.
std::string value_of(const std::string& configuration, const std::string& key);

// This process's environment, "NAME=VALUE" each, without the entries that begin with one of these.
std::vector<std::string> environment_without(const std::vector<std::string_view>& beginnings);

std::vector<std::string> lines_of(const std::string& text);

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace batchai::slurm
