// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_sampler.hpp"

#include "launcher/agent/rank_watch.hpp"
#include "launcher/common/processes.hpp"

namespace batchai::launcher {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};
// The root asks each second. After a longer pause, there is no viewer any more.
constexpr std::chrono::seconds kUnwatched{3};

}  // namespace

RankSampler::RankSampler(Loop& loop, const Ranks& ranks, const ProgressPages& pages, Channel& root,
                         const env::Environment& environment)
    : ranks_(ranks), pages_(pages), root_(root), gpus_(loop, environment), looks_(loop, [this] {
          look();
      }) {}

void RankSampler::look() {
    if (steady_clock::now() - answered_ > kUnwatched) {
        seen_.clear();
        return looks_.stop();
    }
    for (const int rank : ranks_.all_running()) {
        const auto page = pages_.read(rank);
        if (!page) continue;
        Seen& seen = seen_[rank];
        ++seen.looks;
        if (page->waits()) ++seen.waiting;
    }
}

void RankSampler::answer() {
    const auto now = steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - answered_).count();
    answered_ = now;
    Sampled sampled;
    for (const int rank : ranks_.all_running()) sampled.ranks.push_back(sample(rank, seconds));
    const MemoryUse memory = memory_of_job();
    sampled.memory = memory.used;
    sampled.limit = memory.limit;
    sampled.gpus = gpus_.read();
    root_.send(sampled);
    if (!looks_.active()) looks_.start(kBetweenLooks, kBetweenLooks);
}

RankSample RankSampler::sample(int rank, double seconds) {
    RankSample sample;
    sample.rank = rank;
    sample.pid = ranks_.process(rank);
    const Usage usage = usage_of(sample.pid);
    sample.state = usage.state;
    sample.memory = usage.resident;
    sample.silent = ranks_.silent(rank);
    sample.line = ranks_.last_line(rank);
    Seen& seen = seen_[rank];
    // A process that has left the rank takes its time along.
    if (seen.measured) sample.cpu = std::max(0.0, (usage.cpu - seen.cpu) / seconds);
    add_progress(sample, seen, seconds);
    seen = {usage.cpu, sample.operation, 0, 0, true};
    return sample;
}

void RankSampler::add_progress(RankSample& sample, Seen& seen, double seconds) const {
    const auto page = pages_.read(sample.rank);
    sample.in_library = page && page->stage != coll::Stage::left;
    if (!sample.in_library) return;
    sample.pid = page->pid;
    sample.operation = page->operation;
    // A rank that has called init again counts from 0.
    if (seen.measured && page->operation >= seen.operation)
        sample.operations = static_cast<double>(page->operation - seen.operation) / seconds;
    if (seen.measured && seen.looks > 0)
        sample.waiting = static_cast<double>(seen.waiting) / seen.looks;
    if (!page->waits()) return;
    sample.what = words_for(*page);
    sample.missing = page->missing;
}

}  // namespace batchai::launcher
