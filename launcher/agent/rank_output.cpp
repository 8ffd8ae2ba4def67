// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_output.hpp"

#include "job/expand.hpp"
#include "launcher/common/continued_file.hpp"

namespace batchai::launcher {
namespace {

// Limits of untaken output in bytes. Above kHighWater the agent stops reading from the ranks; below
// kLowWater it reads again.
constexpr std::uint64_t kHighWater = 8 << 20, kLowWater = 4 << 20;

// The file that gets a rank's output instead of the root; empty: the root gets it. "{stream}" in it
// stands for stdout or stderr.
std::string own_file(const Launch& job, int rank, const env::Environment& environment,
                     const Meeting& meeting) {
    const std::string& output = program_of(job.programs, rank).program->output;
    const std::size_t name = output.rfind('/') + 1;  // braces in the directory are kept as they are
    return job::expand(output.substr(0, name), environment) +
           fill_in(output.substr(name), job.programs, rank, meeting);
}

}  // namespace

sys::Result<void> RankOutput::open(const Launch& job, int node, const env::Environment& environment,
                                   const Meeting& meeting) {
    files_ = std::make_unique<RankFiles>(
        loop_, RankFiles::Callbacks{[this](std::uint64_t bytes) { taken(bytes); },
                                    callbacks_.on_failure, callbacks_.on_idle});
    // In a restart the job has begun. A file that cannot be opened must not end it.
    const bool restarts = job.append_output;
    for (const int rank : job.map.ranks_on(node)) {
        std::string of_rank;
        if (const std::string& asked = job.settings.output_directory; !asked.empty())
            of_rank = path_of_rank(asked, rank, job.map.size());
        const std::string own = own_file(job, rank, environment, meeting);
        if (!own.empty()) own_.insert(rank);
        if (restarts) {
            if (!of_rank.empty()) files_->reopen(rank, of_rank, job.output_line);
            if (!own.empty()) files_->reopen(rank, own, job.output_line);
            continue;
        }
        sys::Result<void> opened;
        if (!of_rank.empty()) opened = files_->make(rank, of_rank);
        if (opened && !own.empty()) opened = files_->extend(rank, own, kLaunchedAgain);
        if (!opened) return opened;
    }
    return {};
}

void RankOutput::write(int rank, Stream stream, std::string bytes) {
    const bool to_root = !own_.contains(rank);
    untaken_ += bytes.size() * ((files_ ? files_->count(rank) : 0) + (to_root ? 1 : 0));
    if (untaken_ > kHighWater) callbacks_.hold(true);
    if (files_) files_->write(rank, stream, bytes);
    if (to_root) callbacks_.to_root(Output{rank, stream, std::move(bytes)});
}

void RankOutput::taken(std::uint64_t bytes) {
    untaken_ -= bytes;
    if (untaken_ < kLowWater) callbacks_.hold(false);
}

void RankOutput::finish() {
    if (files_) files_->finish();
}

}  // namespace batchai::launcher
