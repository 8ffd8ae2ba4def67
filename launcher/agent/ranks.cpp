// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/ranks.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/processes.hpp"
#include "launcher/common/say.hpp"
#include "sys/clock.hpp"

namespace batchai::launcher {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Ranks::Ranks(Loop& loop, Channel& root, std::string node, AgentEvents& events)
    : loop_(loop),
      root_(root),
      events_(events),
      output_(loop, root, std::move(node), *this),
      grace_(loop,
             [this] {
                 kill_all();
                 check_done();
             }),
      // A process that cannot be killed holds a pipe open: stop waiting.
      linger_(loop, [this] {
          for (auto& [number, rank] : ranks_) {
              pass_rest(number, rank.output, Stream::out);
              pass_rest(number, rank.error, Stream::err);
              rank.output.poll.reset();
              rank.error.poll.reset();
          }
          lingered_ = true;
          check_done();
      }) {}

void Ranks::start(int number, const SpawnRequest& request) {
    Rank& rank = ranks_[number];
    rank.begin = rank.wrote = steady_clock::now();
    Spawned spawned;
    const SpawnFailure failure = spawn(request, spawned);
    if (failure.code != 0) {
        RankEnd end;
        end.rank = number;
        end.how = RankEnd::How::not_started;
        end.code = failure.code;
        end.time = sys::wall_clock();
        end.message = failure.message;
        events_.rank_ended(std::move(end));
        return;
    }
    rank.pid = rank.group = spawned.pid;
    attach(number, rank.output, Stream::out, std::move(spawned.output));
    attach(number, rank.error, Stream::err, std::move(spawned.error));
    if (spawned.input) {
        input_ = std::make_unique<InputPipe>(loop_, std::move(spawned.input),
                                             [this] { root_.send(InputTaken{}); });
    }
}

void Ranks::started_all() {
    started_ = true;
    check_done();
}

void Ranks::attach(int number, Source& source, Stream stream, sys::UniqueFd fd) {
    source.rest = std::make_unique<Timer>(
        loop_, [this, number, &source, stream] { look(number, source, stream); });
    source.poll =
        std::make_unique<Poll>(loop_, std::move(fd), [this, number, &source, stream](int f) {
            if (read(number, source, stream, f, false)) return;
            source.poll.reset();
            check_done();
        });
}

bool Ranks::read(int number, Source& source, Stream stream, int fd, bool all) {
    std::array<char, 1 << 16> bytes;
    do {
        const ssize_t size = ::read(fd, bytes.data(), bytes.size());
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (size <= 0) {
            pass_rest(number, source, stream);
            return false;
        }
        const std::string_view got(bytes.data(), static_cast<std::size_t>(size));
        if (stream == Stream::err) ranks_.at(number).tail.add(got);
        add(number, source, stream, got);
    } while (all);
    return true;
}

void Ranks::add(int number, Source& source, Stream stream, std::string_view bytes) {
    std::string lines = source.lines.add(bytes);
    const bool another_line = !lines.empty();
    pass(number, stream, std::move(lines));
    source.in_pieces &= !another_line;
    const std::size_t size = source.lines.size();
    const bool is_a_piece = source.in_pieces && size >= kPiece;
    if (is_a_piece || (size >= kBlock && pending() > kPending)) {
        source.in_pieces = true;
        pass_rest(number, source, stream);
    }
    source.unbroken += bytes.size();
    if (source.lines.size() == 0) {
        source.unbroken = 0;
        return source.rest->stop();
    }
    if (!another_line && source.rest->active()) return;
    source.seen = 0;
    source.rest->start(kRest);
}

void Ranks::look(int number, Source& source, Stream stream) {
    if (source.unbroken % kStdioBlock == 0) return;  // until more bytes come, or the stream ends
    const std::size_t size = source.lines.size();
    const bool grows = size - source.seen >= kBlock;
    if (!grows && !held_) return pass_rest(number, source, stream);
    source.seen = size;
    source.rest->start(grows ? kLongRest : kRest);
}

void Ranks::pass_rest(int number, Source& source, Stream stream) {
    if (source.rest) source.rest->stop();
    source.unbroken = 0;
    pass(number, stream, source.lines.rest());
}

std::size_t Ranks::pending() const {
    std::size_t bytes = 0;
    for (const auto& [number, rank] : ranks_)
        bytes += rank.output.lines.size() + rank.error.lines.size();
    return bytes;
}

void Ranks::pass(int number, Stream stream, std::string text) {
    if (text.empty()) return;
    Rank& rank = ranks_.at(number);
    rank.wrote = steady_clock::now();
    rank.library.add(text);
    if (std::string line = last_line_of(text); !line.empty()) rank.line = std::move(line);
    output_.write(number, stream, std::move(text));
}

void Ranks::log(int rank, Stream stream, std::string text) {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end() || done_) return;
    if (stream == Stream::err) found->second.tail.add(text);
    pass(rank, stream, std::move(text));
}

void Ranks::reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto found = std::find_if(ranks_.begin(), ranks_.end(), [pid](const auto& entry) {
            return entry.second.pid == pid;
        });
        if (found == ranks_.end()) {
            events_.child_ended(pid, status);
        } else {
            ended(found->first, found->second, status);
        }
    }
    check_done();
}

void Ranks::ended(int number, Rank& rank, int status) {
    RankEnd end;
    end.time = sys::wall_clock();
    end.ran = std::chrono::duration<double>(steady_clock::now() - rank.begin).count();
    end.rank = number;
    end.asked = asked_;
    end.how = WIFSIGNALED(status) ? RankEnd::How::signaled : RankEnd::How::exited;
    end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    end.core = WIFSIGNALED(status) && WCOREDUMP(status);
    end.pid = rank.pid;
    end.memory = status != 0 && memory_kills_.any_new();
    rank.pid = -1;
    // Read the rank's last output first. Processes that it started may still hold the pipes; their
    // output comes later.
    for (auto [source, stream] :
         {std::pair{&rank.output, Stream::out}, {&rank.error, Stream::err}}) {
        if (source->poll && !read(number, *source, stream, source->poll->fd(), true)) {
            source->poll.reset();
        }
    }
    end.tail = rank.tail.lines();
    end.library_errors = rank.library.lines();
    events_.rank_ended(std::move(end));
}

bool Ranks::running(int rank) const {
    const auto found = ranks_.find(rank);
    return found != ranks_.end() && found->second.pid > 0 && !is_ending(found->second.pid);
}

pid_t Ranks::process(int rank) const {
    const auto found = ranks_.find(rank);
    return found == ranks_.end() || found->second.pid <= 0 ? 0 : found->second.pid;
}

std::vector<int> Ranks::all_running() const {
    std::vector<int> running;
    for (const auto& [number, rank] : ranks_) {
        if (rank.pid > 0) running.push_back(number);
    }
    return running;
}

double Ranks::silent(int rank) const {
    return std::chrono::duration<double>(steady_clock::now() - ranks_.at(rank).wrote).count();
}

// A rank stops and goes on with the processes that it has started, as in a shell.
void Ranks::forward(const Signal& signal) {
    const bool whole_group = signal.signal == SIGSTOP || signal.signal == SIGCONT;
    for (auto& [number, rank] : ranks_) {
        if (rank.pid > 0 && signal.ranks.contains(number))
            ::kill(whole_group ? -rank.pid : rank.pid, signal.signal);
    }
}

void Ranks::kill_groups(int signal) {
    for (auto& [number, rank] : ranks_) {
        if (rank.pid <= 0) continue;
        ::kill(-rank.pid, signal);
        if (signal != SIGKILL) ::kill(-rank.pid, SIGCONT);  // a stopped rank cannot end
    }
}

void Ranks::end(int signal, milliseconds grace) {
    const bool at_once = asked_ || signal == SIGKILL;
    asked_ = true;
    if (at_once) return kill_all();
    kill_groups(signal);
    grace_.start(grace);
}

void Ranks::kill_all() {
    grace_.stop();
    kill_groups(SIGKILL);
    signal_children(SIGKILL);
}

// A shell may have ended while a program that it started still writes its checkpoint.
bool Ranks::any_group_lives() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
        return entry.second.group > 0 && ::kill(-entry.second.group, 0) == 0;
    });
}

void Ranks::input(std::string bytes) {
    if (input_) input_->write(std::move(bytes));
}

void Ranks::hold_output(bool hold) {
    if (held_ == hold) return;
    held_ = hold;
    for (auto& [number, rank] : ranks_) {
        for (Source* source : {&rank.output, &rank.error}) {
            if (!source->poll) continue;
            hold ? source->poll->stop() : source->poll->start();
        }
    }
}

void Ranks::check_done() {
    if (!started_ || done_) return;
    bool streams = false;
    for (const auto& [number, rank] : ranks_) {
        if (rank.pid > 0) return;
        streams = streams || rank.output.poll || rank.error.poll;
    }
    if (grace_.active() && any_group_lives()) return;
    if (!asked_ && has_child_launch())  // ends all, and comes back
        return events_.fail(
            AgentError{std::string("batchai-launch: ") + kScriptEnded, kOwnFailure, false});
    // No process may outlive the ranks. A process that they left behind is now a child of the
    // agent, or descends from one.
    if (!lingered_ && (signal_children(SIGKILL) > 0 || streams)) {
        if (!linger_.active()) linger_.start(std::chrono::seconds(1));
        return;
    }
    done_ = true;
    grace_.stop();
    linger_.stop();
    input_.reset();
    events_.ranks_done();
}

}  // namespace batchai::launcher
