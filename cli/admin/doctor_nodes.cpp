// SPDX-License-Identifier: Apache-2.0
#include "cli/admin/doctor_nodes.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "slurm/command.hpp"
#include "slurm/host_list.hpp"
#include "slurm/nodes.hpp"
#include "sys/paths.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kAtOnce = 16;  // srun processes
constexpr const char* kPolicyDigest = ", SHA-256 ";

Finding silent(const std::string& why, State state = State::error) {
    return {"node", state, why};
}

std::optional<State> state_of(const std::string& name) {
    for (const State state : {State::ok, State::warning, State::error})
        if (name == name_of(state)) return state;
    return std::nullopt;
}

std::vector<std::string> doctors_command(const NodesQuestion& question) {
    std::vector<std::string> command{sys::own_executable(), "admin", "doctor", "--json"};
    if (!question.plugstack.empty())
        command.insert(command.end(), {"--plugstack", question.plugstack});
    if (!question.home.empty()) command.insert(command.end(), {"--home", question.home});
    return command;
}

// "DIRECTORY=IDENTITY", if this machine can identify the directory.
std::string with_identity(const std::string& home) {
    const auto identity = home.empty() ? sys::Error{} : home_identity(home);
    return identity ? home + "=" + identity->text() : home;
}

NodeFindings ask_node(const std::string& node, const std::vector<slurm::Partition>& partitions,
                      const std::vector<std::string>& command) {
    NodeFindings answer{node, {}};
    const slurm::Partition* place = nullptr;
    std::string state;
    for (const auto& partition : partitions)
        for (const auto& [name, its] : partition.nodes)
            if (name == node && (place == nullptr || partition.is_default)) {
                place = &partition;
                state = its;
            }
    if (place == nullptr) {
        answer.findings.push_back(silent("is in no partition of Slurm. Correct the list"));
        return answer;
    }
    if (!slurm::can_run_jobs(state)) {
        answer.findings.push_back(
            silent(fmt::format("is not asked, Slurm says {}: see 'scontrol show node'", state)));
        return answer;
    }
    if (state.starts_with("allocated")) {
        answer.findings.push_back(
            silent("is not asked, jobs have all of its cores: ask it again later", State::warning));
        return answer;
    }
    const auto done = slurm::run_on_node(node, place->name, command);
    if (!done) {
        answer.findings.push_back(silent(done.error().message));
        return answer;
    }
    auto findings = parse_findings(done->out);
    if (findings)
        answer.findings = *std::move(findings);
    else if (done->err.find("nodes are busy") != std::string::npos)
        answer.findings.push_back(silent("jobs keep it busy: ask it again later", State::warning));
    else
        answer.findings.push_back(silent(
            "the doctor returned no answer there: " +
            (done->err.empty() ? fmt::format("exit {}", done->status) : slurm::reason(done->err))));
    return answer;
}

std::vector<NodeFindings> ask_all(const std::vector<std::string>& nodes,
                                  const std::vector<slurm::Partition>& partitions,
                                  const std::vector<std::string>& command) {
    std::vector<NodeFindings> answers;
    for (std::size_t begin = 0; begin < nodes.size(); begin += kAtOnce) {
        std::vector<std::future<NodeFindings>> some;
        for (std::size_t i = begin; i < std::min(begin + kAtOnce, nodes.size()); ++i)
            some.push_back(std::async(std::launch::async,
                                      [&, i] { return ask_node(nodes[i], partitions, command); }));
        for (auto& one : some) answers.push_back(one.get());
    }
    return answers;
}

// srun runs this program's path as root on the nodes. Another file may be there.
sys::Result<void> check_own_path() {
    if (::geteuid() != 0) return {};
    const std::filesystem::path own = sys::own_executable();
    for (auto path = own.parent_path(); path.has_relative_path(); path = path.parent_path()) {
        struct stat info = {};
        if (::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0)
            return sys::Error{fmt::format(
                "{}: below {}, where every user can put a program that nodes would run as root: "
                "install batchai, and run the installed one",
                own.string(), path.string())};
    }
    return {};
}

}  // namespace

sys::Result<std::vector<Finding>> parse_findings(const std::string& json) {
    const auto rows = nlohmann::json::parse(json, nullptr, false);
    if (!rows.is_array()) return sys::Error{"is not a list of findings"};
    std::vector<Finding> findings;
    for (const auto& row : rows) {
        const auto text = [&row](const char* key) {
            return row.is_object() && row.contains(key) && row[key].is_string()
                       ? row[key].get<std::string>()
                       : std::string();
        };
        const auto state = state_of(text("state"));
        if (!state) return sys::Error{"is not a list of findings"};
        findings.push_back({text("check"), *state, text("message")});
    }
    return findings;
}

std::vector<Row> rows_of(const std::vector<NodeFindings>& answers) {
    std::vector<Row> rows;
    for (const auto& [node, findings] : answers)
        for (const auto& finding : findings) {
            const auto row = std::ranges::find(rows, finding, &Row::finding);
            if (row == rows.end())
                rows.push_back({finding, {node}});
            else if (row->nodes.back() != node)
                row->nodes.push_back(node);
        }
    return rows;
}

void compare_policies(std::vector<NodeFindings>& answers) {
    std::map<std::string, std::vector<NodeFindings*>> by_digest;
    for (auto& answer : answers)
        for (const auto& finding : answer.findings)
            if (const auto at = finding.message.find(kPolicyDigest);
                finding.check == "policy" && at != std::string::npos)
                by_digest[finding.message.substr(at)].push_back(&answer);
    if (by_digest.size() < 2) return;
    const auto most = std::ranges::max_element(
        by_digest, {}, [](const auto& entry) { return entry.second.size(); });
    for (const auto& [digest, some] : by_digest)
        for (NodeFindings* answer : some)
            if (digest != most->first)
                answer->findings.push_back({"policy", State::error,
                                            "differs from the policy of most machines: jobs would "
                                            "run differently. Copy one policy to all of them"});
}

int ask_nodes(const Session& session, const NodesQuestion& question, bool json) {
    const auto partitions = slurm::partitions();
    if (!partitions) return fail(kEnvironment, partitions.error());
    const auto nodes = slurm::expand_hostlist(question.nodes);
    if (nodes.empty())
        return fail(kBadInput, "--nodes '" + question.nodes + "': is not a list such as n[1-4],n7");
    if (auto safe = check_own_path(); !safe) return fail(kEnvironment, safe.error());
    NodesQuestion asked = question;
    asked.home = with_identity(question.home.empty() ? usual_home() : question.home);
    auto answers = ask_all(nodes, *partitions, doctors_command(asked));
    compare_policies(answers);
    auto document = nlohmann::json::array();
    bool good = true;
    for (const auto& [node, findings] : answers) {
        good = good && !has_error(findings);
        for (const auto& finding : findings)
            document.push_back({{"node", node},
                                {"check", finding.check},
                                {"state", name_of(finding.state)},
                                {"message", finding.message}});
    }
    if (json) {
        if (const int code = session.print(document); code != kOk) return code;
    } else {
        for (const auto& [finding, names] : rows_of(answers))
            fmt::print("{:<8} {:<10} {}: {}\n", name_of(finding.state), finding.check,
                       slurm::hostlist_of(names), sys::printable(finding.message));
    }
    return good ? kOk : kFailed;
}

}  // namespace batchai::cli
