// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/agent/rank_state.hpp"
#include "launcher/common/processes.hpp"

namespace batchai::launcher {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// The interval between two looks at the ranks' pages.
constexpr milliseconds kWatch{1000}, kLeastWatch{50};

}  // namespace

std::string words_for(const coll::ProgressCopy& page) {
    if (page.stage == coll::Stage::joining) return "init";
    const std::string operation =
        fmt::format("operation {}, {}", page.operation, coll::describe(page.signature));
    return page.label.empty() ? operation : fmt::format("'{}' ({})", page.label, operation);
}

std::string ProgressPages::path(int rank) const {
    return fmt::format("{}/progress.{}", directory_, rank);
}

std::string ProgressPages::stack_file(int rank) const {
    return path(rank) + coll::kStackSuffix;
}

void ProgressPages::offer(int rank, int first, std::map<std::string, std::string>& environment) {
    environment.erase(coll::kProgressVariable);  // a launcher around this one may have set it
    sys::UniqueFd fd(::open(path(rank).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::posix_fallocate(fd.get(), 0, coll::kProgressBytes) != 0) return;
    environment[coll::kProgressVariable] = path(rank);
    pages_[rank] = {std::move(fd), first};
}

void ProgressPages::remove(int rank) {
    seen_.erase(rank);
    if (pages_.erase(rank) > 0) ::unlink(path(rank).c_str());
}

std::optional<coll::ProgressCopy> ProgressPages::read(int rank) const {
    const auto found = pages_.find(rank);
    if (found == pages_.end()) return std::nullopt;
    auto page = coll::read_progress(found->second.file);
    if (page)
        for (int& missing : page->missing) missing += found->second.first;
    return page;
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

RankWatch::RankWatch(Loop& loop, const std::string& pages, Node node)
    : loop_(loop),
      node_(node),
      pages_(pages),
      stacks_(loop, node.environment),
      sampler_(loop, node.ranks, pages_, node.root, node.environment) {}

// The process that uses the collective library, which a script may have started. Without one, the
// first that runs Python, or else the process that works.
pid_t RankWatch::process_of(int rank) const {
    const pid_t first = node_.ranks.process(rank);
    const pid_t user = pages_.process(rank);
    if (user > 0 && is_below(user, first)) return user;
    const pid_t python = python_process(first, pages_.stack_file(rank));
    return python > 0 ? python : working_process(first);
}

void RankWatch::inspect() {
    if (timer_) look();
    struct Answer {
        std::size_t missing = 0;
        std::map<int, RankState> ranks;
    };
    const auto answer = std::make_shared<Answer>();
    const auto send = [this, answer] {
        Inspected inspected;
        for (auto& [rank, state] : answer->ranks) inspected.ranks.push_back(std::move(state));
        node_.root.send(inspected);
    };
    std::map<int, pid_t> processes;
    for (const int rank : node_.ranks.all_running()) {
        const pid_t pid = process_of(rank);
        RankState state;
        state.rank = rank;
        state.text = fmt::format("process {}: {}; nothing written for {:.0f} s", pid,
                                 process_state(pid), node_.ranks.silent(rank));
        state.stopped = process_letter(pid) == 'T';
        state.progress = pages_.progress(rank);
        const auto pmix = node_.pmix.state(rank);
        if (!pmix) {
            state.text += "; no PMIx_Init so far";
        } else if (*pmix == RankEnd::Pmix::left) {
            state.text += "; out of PMIx_Finalize";
        }
        processes[rank] = pid;
        answer->ranks[rank] = std::move(state);
    }
    answer->missing = processes.size();
    if (processes.empty()) send();
    for (const auto& [rank, pid] : processes) {
        stacks_.read(rank, pid, pages_.stack_file(rank), StackReader::Sources::python,
                     [answer, send](const Stack& stack) {
                         answer->ranks[stack.rank].line = python_line(stack.lines);
                         if (--answer->missing == 0) send();
                     });
    }
}

void RankWatch::read_stack(int rank) {
    if (node_.ranks.process(rank) == 0) {
        node_.root.send(Stack{rank, 0, {}, {}});
    } else {
        stacks_.read(rank, process_of(rank), pages_.stack_file(rank), StackReader::Sources::all,
                     [this](const Stack& stack) { node_.root.send(stack); });
    }
}

void RankWatch::start(milliseconds quiet_after) {
    quiet_after_ = quiet_after;
    const auto period =
        quiet_after.count() == 0 ? kWatch : std::clamp(quiet_after / 4, kLeastWatch, kWatch);
    still_.restart();
    timer_ = std::make_unique<Timer>(loop_, [this] { look(); });
    timer_->start(period, period);
}

void RankWatch::look() {
    const ProgressPages::Activity activity = pages_.look(node_.ranks.all_running());
    if (quiet_after_.count() == 0) return;
    if (activity.moved) {
        still_.restart();
        if (std::exchange(quiet_, false)) node_.root.send(Quiet{Quiet::Progress::moving});
    } else if (const auto still = still_.read(kWatch); !quiet_ && still >= quiet_after_) {
        quiet_ = true;
        node_.root.send(
            Quiet{activity.waiting ? Quiet::Progress::waiting : Quiet::Progress::silent});
    }
}

}  // namespace batchai::launcher
