// SPDX-License-Identifier: Apache-2.0
#include "cli/job/top_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "slurm/host_list.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;
using EventKind = job::Event::Kind;

constexpr double kClockSkew = 5;  // seconds between two machines

json iso_or_null(const std::optional<double>& time) {
    return time ? json(iso_seconds(*time)) : json();
}

const char* phase_after(EventKind kind) {
    switch (kind) {
        case EventKind::preparing:
            return "prepare";
        case EventKind::started:
            return "run";
        case EventKind::finished:
            return "save";
        case EventKind::failed:
            return "failed";
        default:
            return "start";
    }
}

// The phase of each node that has reported one in this run of the job. A requeued job has events of
// earlier runs, maybe on other nodes.
json phases_of(const Execution& execution, const std::vector<job::Event>& events, double now) {
    if (execution.state == Execution::State::queued) return json::array();
    std::map<std::string, json> nodes;
    for (const job::Event& event : events) {
        if (event.node == job::kNoNode ||
            event.time < execution.start_time.value_or(0) - kClockSkew)
            continue;
        nodes[event.node] = {{"node", event.node},
                             {"phase", phase_after(event.kind)},
                             {"seconds", std::max(0.0, std::round(now - event.time))}};
    }
    json phases = json::array();
    for (auto& [name, phase] : nodes) phases.push_back(std::move(phase));
    return phases;
}

// ---- text ---------------------------------------------------------------------------------------

std::string clock_text(double seconds) {
    return duration_text(std::floor(std::max(0.0, seconds)));
}

// "7.5G", "980M"
std::string bytes_text(const json& bytes) {
    if (!bytes.is_number()) return {};
    constexpr std::array kUnits{'K', 'M', 'G', 'T'};
    double value = bytes.get<double>() / 1024;
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
    return fmt::format("{:.{}f}{}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string used_of(const json& used, const json& limit) {
    if (!used.is_number()) return {};
    const std::string most = bytes_text(limit);
    return bytes_text(used) + (most.empty() ? "" : "/" + most);
}

std::string percent(const json& share) {
    return share.is_number() ? fmt::format("{:.0f}", share.get<double>() * 100) : "";
}

std::string age_text(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f}s", seconds);
    if (seconds < 6000) return fmt::format("{:.0f}m", seconds / 60);
    return fmt::format("{:.0f}h", seconds / 3600);
}

// Without the sequences by which a program colours its text and moves the cursor (ECMA-48, CSI).
std::string without_sequences(const std::string& line) {
    std::string text;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (line.compare(at, 2, "\033[") != 0) {
            text += line[at];
            continue;
        }
        at = std::min(line.find_first_not_of("0123456789;:?<=> ", at + 2), line.size());
    }
    return text;
}

// "run n[1-2]; prepare n3 (12s)", in the order of a job's life.
std::string phases_text(const json& phases) {
    constexpr std::array<const char*, 5> kOrder{"prepare", "start", "run", "save", "failed"};
    std::string text;
    for (const char* phase : kOrder) {
        std::vector<std::string> nodes;
        double longest = 0;
        for (const json& node : phases) {
            if (node.at("phase") != phase) continue;
            nodes.push_back(node.at("node"));
            longest = std::max(longest, node.at("seconds").get<double>());
        }
        if (nodes.empty()) continue;
        text += fmt::format("{}{} {} ({})", text.empty() ? "" : "; ", phase,
                            slurm::hostlist_of(nodes), age_text(longest));
    }
    return text;
}

std::string head_line(const json& job) {
    const std::string state = job["executionState"];
    std::string text = fmt::format("{}: {}", cell(job["name"]), state);
    if (job["jobId"].is_string()) text += ", job " + cell(job["jobId"]);
    if (job["reason"].is_string()) text += fmt::format(" ({})", cell(job["reason"]));
    if (job["seconds"].is_number()) text += ", " + clock_text(job["seconds"]);
    if (job["secondsLeft"].is_number())
        text += fmt::format(", {} left", clock_text(job["secondsLeft"]));
    if (job["estimatedStart"].is_string())
        text += fmt::format(", Slurm expects to start it at {}", cell(job["estimatedStart"]));
    if (job["exitCode"].is_number()) text += ", exit code " + cell(job["exitCode"]);
    const json& view = job["view"];
    if (view.is_null()) return text;
    if (view.at("maxRestarts") > 0)
        text += fmt::format(", restart {} of {}", view.at("restarts").get<int>(),
                            view.at("maxRestarts").get<int>());
    if (view.at("requeues") > 0)
        text += fmt::format(", requeued {}", view.at("requeues").get<int>());
    return text;
}

std::string awaited_text(const json& view) {
    const json& awaited = view.at("awaited");
    const std::vector<int> ranks = awaited.at("ranks");
    const std::string share = percent(awaited.at("share"));
    const std::string names = awaited.value("names", sys::number_list(ranks));
    if (ranks.size() != 1) return fmt::format("ranks {} make the others wait {} %", names, share);
    std::string node;
    for (const json& rank : view.at("ranks"))
        if (rank.at("rank") == ranks.front()) node = cell(rank.at("node"));
    return fmt::format("rank {} ({}) makes the others wait {} %", names, node, share);
}

json node_of(const json& view, const json& name) {
    for (const json& node : view.at("nodes"))
        if (node.at("node") == name) return node;
    return json::object();
}

json gpu_of(const json& node, const json& index) {
    for (const json& gpu : node.value("gpus", json::array()))
        if (gpu.at("gpu") == index) return gpu;
    return json::object();
}

struct Column {
    const char* title;
    std::string (*cell)(const json& rank, const json& node, const json& gpu);
    bool may_be_left_out;  // if it is empty for all ranks
};

// The last line of output is one more.
constexpr std::array<Column, 10> kColumns{{
    {"Rank",
     [](const json& rank, const json&, const json&) {
         return rank.value("name", cell(rank.at("rank")));
     },
     false},
    {"Node", [](const json& rank, const json&, const json&) { return cell(rank.at("node")); },
     false},
    {"S", [](const json& rank, const json&, const json&) { return cell(rank.at("state")); }, false},
    {"CPU%", [](const json& rank, const json&, const json&) { return percent(rank.at("cores")); },
     false},
    {"Memory",
     [](const json& rank, const json& node, const json&) {
         return used_of(rank.at("memory"), node.value("memoryLimit", json()));
     },
     false},
    {"GPU%",
     [](const json&, const json&, const json& gpu) { return percent(gpu.value("busy", json())); },
     true},
    {"GPU memory",
     [](const json&, const json&, const json& gpu) {
         return used_of(gpu.value("memory", json()), gpu.value("memoryLimit", json()));
     },
     true},
    {"Ops/s",
     [](const json& rank, const json&, const json&) {
         const json& rate = rank.at("operationsPerSecond");
         return rate.is_number() ? fmt::format("{:.0f}", rate.get<double>()) : "";
     },
     true},
    {"Wait%",
     [](const json& rank, const json&, const json&) { return percent(rank.at("waiting")); }, true},
    {"Age",
     [](const json& rank, const json&, const json&) {
         return age_text(rank.at("silent").get<double>());
     },
     false},
}};

// most: rows. If there are more ranks, those for which others wait come first.
std::string ranks_text(const json& view, std::size_t columns, std::size_t most) {
    constexpr std::size_t kShortestLine = 12;
    std::vector<json> ranks = view.at("ranks");
    const std::size_t all = ranks.size();
    if (all > most) {
        std::vector<int> awaited;
        if (!view.at("awaited").is_null()) view.at("awaited").at("ranks").get_to(awaited);
        std::stable_partition(ranks.begin(), ranks.end(), [&awaited](const json& rank) {
            return std::binary_search(awaited.begin(), awaited.end(), rank.at("rank").get<int>());
        });
        ranks.resize(most);
    }
    Table table;
    std::vector<std::vector<std::string>> rows(ranks.size());
    for (const Column& column : kColumns) {
        std::vector<std::string> cells;
        bool any = !column.may_be_left_out;
        for (const json& rank : ranks) {
            const json node = node_of(view, rank.at("node"));
            cells.push_back(column.cell(rank, node, gpu_of(node, rank.at("gpu"))));
            any = any || !cells.back().empty();
        }
        if (!any) continue;
        table.titles.emplace_back(column.title);
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(std::move(cells[i]));
    }
    table.rows = std::move(rows);
    table.title_padding = 0;
    table.spare = {"GPU memory", "Ops/s", "Age", "Memory"};
    // The last lines are cut before a column is left out.
    const std::string others = table.text();
    const std::size_t width = others.find('\n', others.find('\n') + 1) - others.find('\n') + 1;
    const std::size_t room =
        columns == 0 ? others.npos : std::max(columns, width + kShortestLine) - width;
    table.titles.emplace_back("Last line");
    for (std::size_t i = 0; i < ranks.size(); ++i)
        table.rows[i].push_back(
            cut(sys::printable(without_sequences(cell(ranks[i].at("line")))), room));
    std::string text = table.text(columns);
    if (all > most) text += fmt::format("and {} more ranks\n", all - most);
    return text;
}

// ranks: the most of them. Throws json::exception if the launcher's view is not as expected.
std::string job_text(const json& job, std::size_t columns, std::size_t ranks) {
    std::string text = head_line(job) + "\n";
    if (const std::string phases = phases_text(job["phases"]); !phases.empty())
        text += phases + "\n";
    if (job["trouble"].is_string()) text += cell(job["trouble"]) + "\n";
    const json& view = job["view"];
    if (view.is_null()) return text;
    if (!view.at("awaited").is_null()) text += awaited_text(view) + "\n";
    return text + ranks_text(view, columns, ranks);
}

// columns: of the terminal; 0: no limit.
void add_lines(std::vector<std::string>& lines, const std::string& text, std::size_t columns) {
    for (std::size_t start = 0, end = 0; start < text.size(); start = end + 1) {
        end = std::min(text.find('\n', start), text.size());
        const std::string line = sys::printable(text.substr(start, end - start));
        lines.push_back(columns == 0 ? line : cut(line, columns));
    }
}

}  // namespace

json top_document(const JobRow& row, const Execution& execution,
                  const std::vector<job::Event>& events, const json& view,
                  const std::string& trouble, double now) {
    const slurm::Job slurm = execution.slurm.value_or(slurm::Job{});
    const bool waits = execution.state == Execution::State::queued;
    json document{
        {"name", shown_name(row)},
        {"jobId", row.number ? json(row.number.text()) : json()},
        {"executionState", state_name(execution.state)},
        {"reason", execution.waits_for.empty() ? json() : json(execution.waits_for)},
        {"startTime", iso_or_null(execution.start_time)},
        {"endTime", iso_or_null(execution.end_time)},
        {"estimatedStart", waits ? iso_or_null(slurm.start_time) : json()},
        {"exitCode", execution.exit_code ? json(*execution.exit_code) : json()},
        {"seconds", nullptr},
        {"secondsLeft", nullptr},
        {"phases", phases_of(execution, events, now)},
        {"view", view},
        {"trouble", trouble.empty() ? json() : json(trouble)},
    };
    if (execution.start_time)
        document["seconds"] =
            std::max(0.0, execution.end_time.value_or(now) - *execution.start_time);
    if (!waits && !execution.over() && slurm.end_time)
        document["secondsLeft"] = std::max(0.0, *slurm.end_time - now);
    return document;
}

std::vector<std::string> top_lines(const std::vector<json>& documents, std::size_t columns,
                                   std::size_t lines) {
    constexpr std::size_t kAroundTable = 7;  // lines of a job besides its ranks
    constexpr std::size_t kLeast = 3;
    const std::size_t unlimited = std::string::npos;
    const std::size_t jobs = std::max<std::size_t>(documents.size(), 1);
    const std::size_t each = lines == 0 ? unlimited : lines / jobs;
    const std::size_t ranks =
        each == unlimited ? each : std::max(each, kAroundTable + kLeast) - kAroundTable;
    std::vector<std::string> all;
    for (const json& job : documents) {
        if (!all.empty()) all.emplace_back();
        try {
            add_lines(all, job_text(job, columns, ranks), columns);
        } catch (const json::exception&) {
            json rest = job;
            rest["view"] = nullptr;
            rest["trouble"] = kOtherRelease;
            add_lines(all, job_text(rest, columns, ranks), columns);
        }
    }
    if (lines > 0 && all.size() > lines) all.resize(lines);
    return all;
}

}  // namespace batchai::cli
