// SPDX-License-Identifier: Apache-2.0
#include "slurm/nodes.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "slurm/command.hpp"
#include "slurm/host_list.hpp"
#include "sys/text.hpp"

namespace batchai::slurm {
namespace {

// "[days-][[hours:]minutes:]seconds"; nothing for "infinite" and the like.
std::optional<long> seconds_of_limit(std::string_view text) {
    long days = 0;
    if (const auto dash = text.find('-'); dash != text.npos) {
        days = number<long>(text.substr(0, dash)).value_or(0);
        text.remove_prefix(dash + 1);
    }
    long seconds = 0;
    for (;;) {
        const auto part = number<long>(text.substr(0, text.find(':')));
        if (!part) return std::nullopt;
        seconds = seconds * 60 + *part;
        if (text.find(':') == text.npos) return days * 86400 + seconds;
        text.remove_prefix(text.find(':') + 1);
    }
}

}  // namespace

std::vector<Partition> parse_sinfo(const std::string& text) {
    std::vector<Partition> partitions;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find('|');
        const auto second = line.find('|', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        std::string name = line.substr(0, first);
        const bool is_default = name.ends_with('*');
        if (is_default) name.pop_back();
        auto known = std::find_if(partitions.begin(), partitions.end(),
                                  [&](const Partition& p) { return p.name == name; });
        if (known == partitions.end())
            known = partitions.insert(partitions.end(), {name, is_default, {}, {}});
        const auto third = std::min(line.find('|', second + 1), line.size());
        known->nodes.push_back({line.substr(first + 1, second - first - 1),
                                line.substr(second + 1, third - second - 1)});
        if (third < line.size()) known->time_limit = seconds_of_limit(line.substr(third + 1));
    }
    return partitions;
}

sys::Result<std::vector<Partition>> partitions() {
    const auto text = ask({"sinfo", {"-h", "-N", "-o", "%P|%N|%T|%l"}});
    if (!text) return text.error();
    return parse_sinfo(*text);
}

sys::Result<Partition> find_partition(const std::string& name) {
    const auto all = partitions();
    if (!all) return all.error();
    std::string known;
    for (const auto& partition : *all) {
        if (name.empty() ? partition.is_default : partition.name == name) return partition;
        known += (known.empty() ? "" : ", ") + partition.name;
    }
    if (name.empty())
        return sys::Error{"Slurm has no default partition: give --partition, one of " + known};
    return sys::Error{"partition " + name + ": Slurm has no partition of that name, only " + known};
}

sys::Result<std::vector<std::string>> partition_names() {
    return ask_lines({"sinfo", {"-h", "-a", "-o", "%R"}});
}

bool can_run_jobs(const std::string& state) {
    for (const char* word : {"down", "drain", "fail", "unknown", "maint", "future"})
        if (state.find(word) != state.npos) return false;
    return !state.ends_with('*');  // "*": the node does not answer
}

sys::Result<std::size_t> count_nodes() {
    Call call{"sinfo", {"--noheader", "--Node", "--format=%N"}};
    call.limit = std::chrono::seconds(10);
    const auto names = ask_lines(call);
    if (!names) return names.error();
    if (names->empty()) return sys::Error{"sinfo: names no node"};
    // A node is listed once per partition.
    return std::set<std::string>(names->begin(), names->end()).size();
}

sys::Result<std::vector<std::string>> nodes_of_job(const job::Number& number) {
    const auto list = ask(squeue({"--jobs=" + number.text(), "--format=%N"}));
    if (!list) return list.error();
    return expand_hostlist(sys::first_line(*list));
}

NodeAddresses parse_node_addresses(const std::string& scontrol_show_node) {
    NodeAddresses addresses;
    std::istringstream words(scontrol_show_node);
    for (std::string word; words >> word;) {
        if (word.starts_with("NodeName=")) addresses.emplace_back(word.substr(9), "");
        if (word.starts_with("NodeAddr=") && !addresses.empty() && addresses.back().second.empty())
            addresses.back().second = word.substr(9);
    }
    return addresses;
}

sys::Result<NodeAddresses> node_addresses(const std::vector<std::string>& names) {
    if (names.empty()) return NodeAddresses{};
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ",") + name;
    const auto text = ask({"scontrol", {"show", "node", "-o", list}, {kCluster}});
    if (!text) return text.error();
    return parse_node_addresses(*text);
}

sys::Result<sys::Finished> run_on_node(const std::string& node, const std::string& partition,
                                       const std::vector<std::string>& command) {
    const auto srun = find_command("srun");
    if (!srun) return srun.error();
    // The command starts two ranks. This little memory is free beside other jobs.
    std::vector<std::string> arguments{"timeout", "-k", "5", "300", *srun};
    arguments.insert(arguments.end(),
                     {"--quiet", "--nodes=1", "--ntasks=1", "--mem=512", "--immediate=30",
                      "--time=5", "--chdir=/", "--input=none", "--job-name=batchai-doctor",
                      "--partition=" + partition, "--nodelist=" + node});
    arguments.insert(arguments.end(), command.begin(), command.end());
    // Not the caller's job, and no options in variables.
    sys::Program program{std::move(arguments), environment_without({"SLURM_", "SLURMD_", "SRUN_"})};
    if (const char* file = std::getenv("SLURM_CONF"))
        program.environment->push_back(std::string("SLURM_CONF=") + file);
    return sys::run(std::move(program));
}

}  // namespace batchai::slurm
