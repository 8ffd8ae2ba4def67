// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/progress_pages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace batchai::launcher {

using std::chrono::steady_clock;

namespace {

std::string words_for(const coll::ProgressCopy& page) {
    const std::string operation =
        fmt::format("operation {}, {}", page.operation, coll::describe(page.signature));
    return page.label.empty() ? operation : fmt::format("'{}' ({})", page.label, operation);
}

}  // namespace

std::string ProgressPages::path(int rank) const {
    return fmt::format("{}/progress.{}", directory_, rank);
}

std::string ProgressPages::stack_file(int rank) const {
    return path(rank) + coll::kStackSuffix;
}

void ProgressPages::offer(int rank, std::map<std::string, std::string>& environment) {
    environment.erase(coll::kProgressVariable);  // a launcher around this one may have set it
    sys::UniqueFd fd(::open(path(rank).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::posix_fallocate(fd.get(), 0, coll::kProgressBytes) != 0) return;
    environment[coll::kProgressVariable] = path(rank);
    files_[rank] = std::move(fd);
}

std::optional<coll::ProgressCopy> ProgressPages::read(int rank) const {
    const auto found = files_.find(rank);
    return found == files_.end() ? std::nullopt : coll::read_progress(found->second);
}

RankProgress ProgressPages::progress(int rank) const {
    const auto page = read(rank);
    if (!page) return {};
    RankProgress progress;
    progress.stage = page->stage;
    progress.inside = page->inside;
    progress.certain = page->certain;
    progress.epoch = page->epoch;
    progress.operation = page->operation;
    if (page->operation > 0) progress.what = words_for(*page);
    if (const auto seen = seen_.find(rank); seen != seen_.end()) {
        const std::chrono::duration<double> time = steady_clock::now() - seen->second.time;
        progress.seconds = time.count();
    }
    progress.missing = page->missing;
    return progress;
}

pid_t ProgressPages::process(int rank) const {
    const auto page = read(rank);
    return page ? page->pid : 0;
}

ProgressPages::Activity ProgressPages::look(const std::vector<int>& ranks) {
    Activity activity;
    for (const int rank : ranks) {
        const auto page = read(rank);
        if (!page) continue;
        activity.waiting = activity.waiting || page->waits();
        Seen& seen = seen_[rank];
        if (page->moves == seen.moves) continue;
        seen = {page->moves, steady_clock::now()};
        activity.moved = true;
    }
    return activity;
}

}  // namespace batchai::launcher
