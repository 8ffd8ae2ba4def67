// SPDX-License-Identifier: Apache-2.0
#include "job/record.hpp"

#include <fcntl.h>
#include <cerrno>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"
#include "sys/user_path.hpp"

namespace batchai::job {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxRecordBytes = 4 << 20;
constexpr std::array<const char*, 6> kKinds = {"mounted", "preparing", "prepared",
                                               "started", "finished",  "failed"};

// A message may have bytes of a failing program. Bytes that are not UTF-8 are replaced; they must
// not cause an exception.
std::string line_of(const OrderedJson& json) {
    return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::optional<Event> event_of(const std::string& line) {
    const OrderedJson json = OrderedJson::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    try {
        const auto kind = std::find(kKinds.begin(), kKinds.end(), json.at("kind"));
        if (kind == kKinds.end()) return std::nullopt;
        return Event{static_cast<Event::Kind>(kind - kKinds.begin()), json.at("time"),
                     json.at("node"), json.value("code", ""), json.value("message", "")};
    } catch (const OrderedJson::exception&) {  // a torn or foreign line
        return std::nullopt;
    }
}

sys::Result<void> append_log(const std::string& path, const std::string& text) {
    auto file = open_log(path, O_WRONLY | O_CREAT | O_APPEND);
    if (!file) return file.error();
    if (auto done = sys::write_and_close(*std::move(file), text); !done)
        return done.error().in(path);
    return {};
}

}  // namespace

sys::Result<void> append_event(const std::string& directory, const Event& event) {
    const OrderedJson json = {{"time", event.time},
                              {"node", event.node},
                              {"kind", kKinds[static_cast<std::size_t>(event.kind)]},
                              {"code", event.code},
                              {"message", event.message}};
    return sys::append_file(directory + "/events-" + event.node + ".jsonl", line_of(json), 0600);
}

std::vector<Event> read_events(const std::string& directory) {
    std::vector<Event> events;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename();
        if (name.rfind("events-", 0) != 0) continue;
        const auto text = sys::read_file(entry.path(), kMaxRecordBytes);
        if (!text) continue;
        std::istringstream lines(*text);
        for (std::string line; std::getline(lines, line);)
            if (auto event = event_of(line)) events.push_back(*event);
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.time < b.time; });
    return events;
}

sys::Result<void> write_number(const std::string& directory, const Number& number) {
    const std::string path = directory + "/slurm_job_id";
    sys::UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == EEXIST) return {};
    if (!file) return sys::errno_error(path);
    std::string text = number.own_text() + "\n";
    if (number.is_task()) text += number.text() + "\n";
    if (auto done = sys::write_and_close(std::move(file), text); !done)
        return done.error().in(path);
    return {};
}

Number read_number(const std::string& directory) {
    sys::refresh_directory(directory);  // a compute node may have written it
    const auto text = sys::read_file(directory + "/slurm_job_id", kMaxRecordBytes);
    std::istringstream words(text ? *text : "");
    std::string first, second;
    words >> first >> second;
    const auto own = parse_number(first);
    const auto task = parse_number(second);
    if (!own) return {};
    return task && task->is_task() ? Number::of_task(task->whole(), task->index(), own->own())
                                   : *own;
}

sys::Result<void> write_result(const std::string& directory, const JobResult& result) {
    const OrderedJson json = {{"startTime", result.start_time},
                              {"endTime", result.end_time},
                              {"exitCode", result.exit_code},
                              {"failure", result.failure},
                              {"node", result.node},
                              {"details", result.details},
                              {"errorFile", result.error_file}};
    return sys::write_file(directory + "/result.json", line_of(json), 0600);
}

std::optional<JobResult> read_result(const std::string& directory) {
    sys::refresh_directory(directory);
    const auto text = sys::read_file(directory + "/result.json", kMaxRecordBytes);
    if (!text) return std::nullopt;
    const OrderedJson json = OrderedJson::parse(*text, nullptr, false);
    try {
        return JobResult{json.at("startTime"),       json.at("endTime"),
                         json.at("exitCode"),        json.at("failure"),
                         json.value("node", ""),     json.value("details", ""),
                         json.value("errorFile", "")};
    } catch (const OrderedJson::exception&) {
        return std::nullopt;
    }
}

sys::Result<sys::UniqueFd> open_log(const std::string& path, int flags) {
    return sys::open_user_file(path, flags, 0644);
}

void leave_outputs(const std::string& directory, const std::string& line) {
    (void)append_log(directory + "/stdout.txt", "");
    (void)append_log(directory + "/stderr.txt", sys::printable(line) + "\n");
}

sys::Result<void> append_execution_log(const std::string& path, const std::string& text) {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    gmtime_r(&now, &utc);  // as the service, and as `batchai job show`
    char stamp[32];
    std::strftime(stamp, sizeof stamp, "%Y/%m/%d %H:%M:%S ", &utc);
    return append_log(path, stamp + sys::printable_lines(text) + "\n");
}

}  // namespace batchai::job
