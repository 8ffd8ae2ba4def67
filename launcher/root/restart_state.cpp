// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/restart_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "job/snapshot.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/say.hpp"
#include "slurm/own_job.hpp"
#include "sys/digest.hpp"
#include "sys/directories.hpp"
#include "sys/file.hpp"
#include "sys/file_lock.hpp"

namespace batchai::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxList = 16 << 20;
constexpr const char* kUnknown = "unknown";  // as the start of a run
constexpr std::chrono::hours kOld{24};
constexpr int kMostAsked = 4;  // questions to Slurm per launch

std::string digest(const std::string& text) {
    return sys::sha256(text).substr(0, 8);
}

// Whether the line is of a run that the job of this launch cannot have had.
bool is_of_another_job(const ListedLaunch& line, const ListedLaunch& launch) {
    const bool known = line.start != kUnknown && launch.start != kUnknown;
    return line.run > launch.run || (line.run == launch.run && known && line.start != launch.start);
}

bool is_free(const std::vector<ListedLaunch>& list, const ListedLaunch& launch, int place) {
    return std::none_of(list.begin(), list.end(), [&](const ListedLaunch& line) {
        return line.run == launch.run && line.command == launch.command && line.place == place;
    });
}

std::vector<ListedLaunch> parse(const std::string& text) {
    std::vector<ListedLaunch> list;
    std::istringstream lines(text);
    ListedLaunch line;
    while (lines >> line.run >> line.start >> line.command >> line.settings >> line.place) {
        list.push_back(line);
    }
    return list;
}

std::string as_text(const std::vector<ListedLaunch>& list) {
    std::string text;
    for (const ListedLaunch& line : list) {
        text += fmt::format("{} {} {} {} {}\n", line.run, line.start, line.command, line.settings,
                            line.place);
    }
    return text;
}

// A separate file is locked, because a list is replaced as a whole and never half written. Launches
// on other machines have written lists meanwhile.
sys::Result<sys::FileLock> lock(const std::string& directory) {
    auto locked = sys::FileLock::take(directory + "/lock");
    sys::refresh_directory(directory);
    return locked;
}

sys::Result<std::vector<ListedLaunch>> note(const std::string& directory, const std::string& name,
                                            const ListedLaunch& launch) {
    if (auto made = sys::make_directories(directory, 0700); !made) return made.error();
    const auto locked = lock(directory);
    if (!locked) return locked.error();
    const std::string file = directory + "/" + name;
    std::vector<ListedLaunch> list;
    if (std::error_code ignored; fs::exists(file, ignored)) {
        const auto text = sys::read_file(file, kMaxList);
        if (!text) return text.error();
        list = parse(*text);
    }
    enter(list, launch);
    if (auto written = sys::write_file(file, as_text(list), 0600); !written) return written.error();
    return list;
}

bool is_old(const fs::path& file) {
    std::error_code error;
    const auto written = fs::last_write_time(file, error);
    return !error && written < fs::file_time_type::clock::now() - kOld;
}

// A launch does not remove its own job's list. Until the job has ended, later launches need it to
// find their places, also those of its next run. So a launch removes the lists of ended jobs.
void remove_old_lists(const std::string& directory, const std::string& cluster) {
    std::error_code error;
    int asked = 0;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (!name.starts_with(cluster) || !is_old(entry->path())) continue;
        const std::string id = name.substr(cluster.size());
        const auto job = job::parse_number(id);
        if (!job) continue;
        if (++asked > kMostAsked) return;
        if (!slurm::is_forgotten(*job)) {  // then it is not asked about for a day
            fs::last_write_time(entry->path(), fs::file_time_type::clock::now(), error);
            continue;
        }
        // Slurm may have given the number to another job meanwhile.
        const auto locked = lock(directory);
        if (locked && is_old(entry->path())) fs::remove(entry->path(), error);
    }
}

// While a requeued job's script still runs, Slurm prints another start time.
std::string start_of_run(const Allocation& allocation) {
    const auto job = slurm::query_own_job(allocation.job.whole(), allocation.restarts);
    return job && !job->requeued && !job->start.empty() ? job->start : kUnknown;
}

}  // namespace

const ListedLaunch& enter(std::vector<ListedLaunch>& list, ListedLaunch launch) {
    if (std::any_of(list.begin(), list.end(),
                    [&](const ListedLaunch& line) { return is_of_another_job(line, launch); })) {
        list.clear();
    }
    for (const ListedLaunch& line : list) {
        const bool own = line.command == launch.command && line.settings == launch.settings &&
                         is_free(list, launch, line.place);
        if (own && (launch.place == 0 || line.place < launch.place)) launch.place = line.place;
    }
    if (launch.place == 0) {
        do ++launch.place;
        while (!is_free(list, launch, launch.place));
    }
    return list.emplace_back(std::move(launch));
}

std::string settings_digest(const std::vector<std::string>& arguments,
                            const env::Environment& environment) {
    constexpr std::array<std::string_view, 9> kChosen{
        "SLURM",           "AZ_BATCHAI_",          "BATCHAI_",           "HOSTNAME",
        "TMPDIR",          "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES",
        "ZE_AFFINITY_MASK"};
    std::string text;
    for (const std::string& argument : arguments) text += argument + '\0';
    for (const auto& [name, value] : environment) {
        if (std::none_of(kChosen.begin(), kChosen.end(), [&name = name](std::string_view begin) {
                return name.starts_with(begin);
            }))
            text += name + '=' + value + '\0';
    }
    return digest(text);
}

std::string restart_directory(const Allocation& allocation, const std::string& prefix,
                              const std::string& command, const std::string& settings) {
    if (allocation.local) return prefix + random_text().substr(0, 8);
    const std::string id = allocation.job.whole_text();
    const int run = allocation.restarts;
    const std::string cluster = env::value_of(env::current(), "SLURM_CLUSTER_NAME") + "-";
    const auto data = job::data_directory();
    const std::string lists = data ? *data + "/launches" : "";
    const auto list =
        data ? note(lists, cluster + id, {run, start_of_run(allocation), digest(command), settings})
             : sys::Result<std::vector<ListedLaunch>>(data.error());
    if (!list) {
        say("if Slurm runs this job again, its ranks will not find their state: noting the "
            "launch: " +
            list.error().message);
        return prefix + id + "." + random_text().substr(0, 8);
    }
    remove_old_lists(lists, cluster);
    if (run > 0 && list->size() == 1) {
        say(fmt::format(
            "job {} runs again, and no launch of an earlier run is noted in {} on this node. If "
            "there was one, its ranks start without their state: set XDG_DATA_HOME to a directory "
            "that all nodes share",
            id, lists));
    }
    // The name contains the start of the job's first run, so another job with the same number has
    // another name.
    const ListedLaunch& own = list->back();
    std::string directory =
        fmt::format("{}{}.{}-{}", prefix, id, digest(list->front().start + own.command), own.place);
    std::error_code error;
    if (run > 0 && fs::exists(directory, error)) {
        say("job " + id + " runs again: its ranks find the state of an earlier run in " +
            directory);
    }
    return directory;
}

}  // namespace batchai::launcher
