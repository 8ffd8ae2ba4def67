// SPDX-License-Identifier: Apache-2.0
//
// Ranks: the processes of one node. It starts them, reads their output, notices their ends, and
// ends them. Call reap() after SIGCHLD. It calls on_done once, when every rank and all processes
// that a rank had started have ended and all output was passed on.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/agent/input.hpp"
#include "launcher/agent/memory_kills.hpp"
#include "launcher/agent/output.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class Ranks {
  public:
    struct Callbacks {
        std::function<void(int rank, Stream, std::string)> on_output;
        std::function<void(RankEnd)> on_end;
        std::function<void()> on_input_taken;
        std::function<void(pid_t, int status)> on_other;  // a child that is no rank has ended
        std::function<void()> on_done;
    };
    Ranks(Loop& loop, Callbacks callbacks);

    // A rank that cannot be started ends at once, with the reason.
    void start(int rank, const SpawnRequest& request);
    // No more ranks will be started.
    void started_all();

    void reap();
    void forward(const Signal& signal);
    // As if the rank had written it.
    void log(int rank, Stream stream, std::string text);
    // The signal now, SIGKILL after the grace period. Repeated: SIGKILL now.
    void end(int signal, std::chrono::milliseconds grace);
    void input(std::string bytes);
    void hold_output(bool hold);
    // Started, and not about to end either.
    bool running(int rank) const;
    // 0: it does not run.
    pid_t process(int rank) const;
    std::vector<int> all_running() const;
    // For how long a rank has written nothing, in seconds.
    double silent(int rank) const;

  private:
    struct Source {
        std::unique_ptr<Poll> poll;  // absent: at its end
        LineBuffer lines;
        std::unique_ptr<Timer> rest;  // runs while lines has the beginning of one
        std::size_t seen = 0;         // bytes of it at the last look
        bool in_pieces = false;       // its line was passed on in part, for lack of room
    };
    struct Rank {
        pid_t pid = -1;    // -1: ended
        pid_t group = -1;  // holds the processes it started, unless they left it; -1: not started
        std::chrono::steady_clock::time_point begin, wrote;
        Source output, error;
        Tail tail{20};
        LibraryErrors library;
    };

    // The agent passes text without a line end (a prompt, a progress bar) on after kRest. A block
    // or more by then counts as a long line: the agent passes it on once less than another block
    // came in kLongRest. All such text of a node is at most kPending (and less than a block of
    // each stream). The agent passes a line that needs more on in pieces, from then on in small
    // ones, and reads the next piece while the last one is on its way.
    static constexpr std::chrono::milliseconds kRest{200}, kLongRest{1000};
    static constexpr std::size_t kBlock = 64 << 10, kPending = 16 << 20, kPiece = 1 << 20;

    void attach(int number, Source& source, Stream stream, sys::UniqueFd fd);
    // Reads the available bytes; false at the end of the stream.
    bool read(int number, Source& source, Stream stream, int fd, bool all);
    void add(int number, Source& source, Stream stream, std::string_view bytes);
    void look(int number, Source& source, Stream stream);
    void pass_rest(int number, Source& source, Stream stream);
    std::size_t pending() const;
    void pass(int number, Stream stream, std::string text);
    void ended(int number, Rank& rank, int status);
    void kill_groups(int signal);
    void kill_all();
    bool any_group_lives() const;
    void check_done();

    Loop& loop_;
    Callbacks callbacks_;
    std::map<int, Rank> ranks_;
    std::unique_ptr<InputPipe> input_;
    MemoryKills memory_kills_;
    Timer grace_, linger_;
    bool held_ = false, asked_ = false, started_ = false, lingered_ = false, done_ = false;
};

}  // namespace batchai::launcher
