// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/counters.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <sstream>

#include "spank/protocol.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"
#include "sys/trusted.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

constexpr char kMetricsFile[] = "batchai.prom";
constexpr char kNewMetricsFile[] = ".batchai.prom.new";  // the collector reads *.prom
constexpr std::size_t kKeptMaximum = 4096;
constexpr int kLockTries = 20;
constexpr useconds_t kLockMicroseconds = 50'000;

struct Metric {
    const char* name;
    const char* help;
    std::vector<std::pair<const char*, Counter>> results;
};

const std::vector<Metric>& metrics() {
    static const std::vector<Metric> all = {
        {"batchai_node_setups_total",
         "Set-ups of this node for a job.",
         {{"succeeded", Counter::set_up}, {"failed", Counter::set_up_failed}}},
        {"batchai_mounts_total",
         "Mounts of jobs.",
         {{"succeeded", Counter::mounts}, {"failed", Counter::mounts_failed}}},
        {"batchai_preparations_total",
         "Job preparations, counted at the end of the job.",
         {{"succeeded", Counter::prepared},
          {"failed", Counter::preparation_failed},
          {"interrupted", Counter::preparation_interrupted}}},
        {"batchai_job_ends_total",
         "Ends of jobs on this node: mounts, processes and files removed.",
         {{"finished", Counter::ended}, {"unfinished", Counter::end_unfinished}}},
        {"batchai_sweeps_total",
         "Leftovers in /run/batchai that a later process removed.",
         {{"finished", Counter::swept}, {"unfinished", Counter::sweep_unfinished}}},
    };
    return all;
}

std::uint64_t value(const Counts& counts, Counter counter) {
    return counts[static_cast<std::size_t>(counter)];
}

// Writes and renames by the directory's descriptor, so that no user can exchange the file.
sys::Result<void> publish(const std::string& directory, const std::string& text) {
    const auto opened = sys::open_trusted(directory, {.flags = O_RDONLY | O_DIRECTORY});
    if (!opened) return opened.error();
    unlinkat(opened->get(), kNewMetricsFile, 0);
    sys::UniqueFd file(openat(opened->get(), kNewMetricsFile,
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file || fchmod(file.get(), 0644) != 0) return sys::errno_error(directory);
    if (auto written = sys::write_and_close(std::move(file), text); !written)
        return written.error().in(directory);
    if (renameat(opened->get(), kNewMetricsFile, opened->get(), kMetricsFile) != 0)
        return sys::errno_error(directory);
    return {};
}

sys::Result<void> count(const std::string& directory,
                        const std::vector<std::pair<Counter, std::uint64_t>>& what) {
    const sys::UniqueFd kept(open(kCountersFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!kept) return sys::errno_error(kCountersFile);
    // The process with the lock may be frozen with a user's step, or wait for a server. Then lose a
    // count instead of delaying a job.
    for (int tries = 0; flock(kept.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
        if (errno != EWOULDBLOCK || tries == kLockTries) return sys::errno_error(kCountersFile);
        usleep(kLockMicroseconds);
    }
    const auto text = sys::read_all(kept.get(), kKeptMaximum);
    Counts counts = kept_counts(text ? *text : "");
    for (const auto& [counter, number] : what) counts[static_cast<std::size_t>(counter)] += number;
    const std::string now = kept_text(counts);
    if (pwrite(kept.get(), now.data(), now.size(), 0) != static_cast<ssize_t>(now.size()))
        return sys::errno_error(kCountersFile);
    return publish(directory, metrics_text(counts));
}

}  // namespace

void Counters::add(const std::vector<std::pair<Counter, std::uint64_t>>& what) const {
    if (directory_.empty()) return;
    if (auto done = count(directory_, what); !done)
        std::fprintf(stderr, "batchai-helper: counters=: %s\n",
                     sys::printable(done.error().message).c_str());
}

std::string metrics_text(const Counts& counts) {
    std::string text;
    for (const auto& [name, help, results] : metrics()) {
        text += fmt::format("# HELP {0} {1}\n# TYPE {0} counter\n", name, help);
        for (const auto& [result, counter] : results)
            text += fmt::format("{}{{result=\"{}\"}} {}\n", name, result, value(counts, counter));
    }
    return text;
}

// All lines have the same length, so a write replaces the whole text.
std::string kept_text(const Counts& counts) {
    std::string text;
    for (const std::uint64_t number : counts) text += fmt::format("{:020}\n", number);
    return text;
}

Counts kept_counts(const std::string& text) {
    Counts counts{};
    std::istringstream lines(text);
    for (std::uint64_t& number : counts)
        if (!(lines >> number)) return {};
    return counts;
}

}  // namespace batchai::spank
