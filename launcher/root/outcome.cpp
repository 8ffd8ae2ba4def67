// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace batchai::launcher {
namespace {

int exit_code_of(const RankEnd& end) {
    if (end.how == RankEnd::How::signaled) return kSignalled + end.code;
    // As mpirun and Hydra: an abort with code 0 ends the job with 0, one with code 256 does not.
    if (end.how == RankEnd::How::aborted && end.code != 0)
        return (end.code & 255) == 0 ? 1 : end.code & 255;
    return end.code;
}

// Facts that help to find the reason. error_file: of the rank's standard error; often empty.
std::string details(const RankEnd& end, const std::string& error_file) {
    std::string text;
    if (end.pid != 0) {
        const std::string gpu = end.gpu < 0 ? "" : fmt::format(", GPU {}", end.gpu);
        text += fmt::format("  process {}{}\n", end.pid, gpu);
    }
    const auto add = [&text](const std::string& title, const std::vector<std::string>& lines) {
        if (!lines.empty()) text += fmt::format("  {}:\n", title);
        for (const std::string& words : lines) text += "    " + words + "\n";
    };
    std::vector<std::string> errors = end.library_errors;
    std::erase_if(errors, [&end](const std::string& words) {
        return std::find(end.tail.begin(), end.tail.end(), words) != end.tail.end();
    });
    add("errors of its libraries", errors);
    add("last lines of its stderr" + (error_file.empty() ? "" : " (" + error_file + ")"), end.tail);
    return text;
}

}  // namespace

bool Outcome::serves(int rank) const {
    return !programs_.empty() && program_of(programs_, rank).program->serves;
}

bool Outcome::is_failure(const RankEnd& end) const {
    const bool well = end.how == RankEnd::How::exited && end.code == 0;
    return !well && !(end.asked && serves(end.rank));
}

bool Outcome::only_servers_run() const {
    if (std::none_of(programs_.begin(), programs_.end(), [](const Program& p) { return p.serves; }))
        return false;
    int rank = 0;
    bool any_runs = false;
    for (const Program& program : programs_) {
        for (int i = 0; i < program.ranks; ++i, ++rank) {
            if (has_ended(rank)) continue;
            if (!program.serves) return false;
            any_runs = true;
        }
    }
    return any_runs && !failed();
}

void Outcome::add(RankEnd end) {
    ends_.emplace(end.rank, std::move(end));
}

// Output that an earlier attempt kept for the same file has another place.
void Outcome::add(const Misplaced& misplaced) {
    if (misplaced.returned)
        std::erase_if(misplaced_,
                      [&](const Misplaced& kept) { return kept.place == misplaced.place; });
    else
        misplaced_.push_back(misplaced);
}

void Outcome::explain_signal(const std::string& why) {
    for (Other& other : others_) {
        if (other.cause == Cause::signal) other.line += why;
    }
}

void Outcome::explain_loss(const std::string& node, const std::string& line) {
    for (Other& other : others_) {
        if (other.node == node) other.line = line;
    }
}

// Among ranks that ended by themselves. A rank that the root has ended comes after these.
const RankEnd* Outcome::first_rank() const {
    const RankEnd* first = nullptr;
    const auto earlier = [](const RankEnd& a, const RankEnd& b) {
        return a.asked != b.asked ? !a.asked : a.time < b.time;
    };
    for (const auto& [rank, end] : ends_) {
        if (is_failure(end) && (first == nullptr || earlier(end, *first))) first = &end;
    }
    return first;
}

const Outcome::Other* Outcome::first_other() const {
    const auto first =
        std::min_element(others_.begin(), others_.end(),
                         [](const Other& a, const Other& b) { return a.time < b.time; });
    if (first == others_.end()) return nullptr;
    const RankEnd* rank = first_rank();
    const bool rank_first = rank != nullptr && !rank->asked && rank->time <= first->time;
    return rank_first ? nullptr : &*first;
}

bool Outcome::failed() const {
    return first_rank() != nullptr || !others_.empty();
}

Cause Outcome::cause() const {
    if (const Other* other = first_other()) return other->cause;
    const RankEnd* rank = first_rank();
    if (rank == nullptr || exit_code_of(*rank) == 0)
        return misplaced_.empty() ? Cause::none : Cause::other;
    return rank->how == RankEnd::How::not_started ? Cause::other : Cause::rank;
}

int Outcome::exit_code() const {
    if (const Other* other = first_other()) return other->code;
    const RankEnd* rank = first_rank();
    if (rank != nullptr && exit_code_of(*rank) != 0) return exit_code_of(*rank);
    return misplaced_.empty() ? 0 : kMisplacedOutput;
}

std::string Outcome::line(const RankMap& map) const {
    if (const Other* other = first_other()) return other->line;
    const RankEnd* rank = first_rank();
    if (rank == nullptr) {
        if (misplaced_.empty()) return {};
        return "batchai-launch: the ranks ended well, but some of their output is not in its "
               "file: " +
               misplaced_.front().line;
    }
    return fmt::format("batchai-launch: rank {} on {} {}", map.name(rank->rank),
                       map.nodes[map.node_of(rank->rank)], describe(*rank));
}

std::string Outcome::node(const RankMap& map) const {
    if (const Other* other = first_other()) return other->node;
    const RankEnd* rank = first_rank();
    return rank == nullptr ? "" : map.nodes[map.node_of(rank->rank)];
}

std::string Outcome::error_file() const {
    const RankEnd* rank = first_other() == nullptr ? first_rank() : nullptr;
    if (rank == nullptr || programs_.empty()) return {};
    return launcher::error_file(programs_, rank->rank);
}

bool Outcome::logged() const {
    const Other* other = first_other();
    return other != nullptr && other->logged;
}

std::string Outcome::text(const RankMap& map, bool with_tail) const {
    if (!failed() && misplaced_.empty()) return {};
    std::string text = line(map) + "\n";
    const RankEnd* culprit = first_other() != nullptr ? nullptr : first_rank();
    if (with_tail && culprit != nullptr) text += details(*culprit, error_file());
    text += followers(map, culprit);
    // The line of the failure is the first one if there is no other failure.
    for (std::size_t i = failed() ? 0 : 1; i < misplaced_.size(); ++i) {
        if (i == kMostMisplaced) {
            return text + fmt::format("  and {} more files\n", misplaced_.size() - i);
        }
        text += "  " + misplaced_[i].line + "\n";
    }
    return text;
}

// A rank that ends when asked has not failed. A rank that does not end may have lacked the time.
std::string Outcome::followers(const RankMap& map, const RankEnd* culprit) const {
    if (cause() == Cause::signal) {
        const auto killed = std::count_if(ends_.begin(), ends_.end(), [](const auto& entry) {
            return entry.second.how == RankEnd::How::signaled && entry.second.code == SIGKILL;
        });
        if (killed == 0) return {};
        return fmt::format("  {} of {} ranks did not end in time and were killed\n", killed,
                           map.size());
    }
    const auto followed = [this, culprit](const auto& entry) {
        return is_failure(entry.second) && &entry.second != culprit;
    };
    const auto count = std::count_if(ends_.begin(), ends_.end(), followed);
    if (count == 0) return {};
    return fmt::format("  {} {}rank{} ended after it\n", count, culprit == nullptr ? "" : "other ",
                       count == 1 ? "" : "s");
}

}  // namespace batchai::launcher
