// SPDX-License-Identifier: Apache-2.0
//
// Ranks: the processes of one node. It starts them, reads their output, notices their ends, and
// ends them. Call reap() after SIGCHLD. It reports ranks_done() when all ranks and all processes
// that they started have ended, and all output was passed on.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "launcher/agent/events.hpp"
#include "launcher/agent/input.hpp"
#include "launcher/agent/output.hpp"
#include "launcher/agent/rank_output.hpp"
#include "launcher/agent/rank_state.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class Ranks : private RankOutput::Host {
  public:
    // node: the name of this node.
    Ranks(Loop& loop, Channel& root, std::string node, AgentEvents& events);

    // Where the ranks' output goes.
    RankOutput& output() { return output_; }

    // A rank that cannot be started ends at once; its end has the reason.
    void start(int rank, const SpawnRequest& request);
    // No more ranks will be started, unless start_more() is called.
    void started_all();
    // More ranks follow. ranks_done() will be reported again.
    void start_more() {
        started_ = lingered_ = done_ = false;
        linger_.stop();
    }

    void reap();
    void forward(const Signal& signal);
    // Adds text to the rank's output, as if the rank had written it.
    void log(int rank, Stream stream, std::string text);
    // Sends the signal now and SIGKILL after the grace period. A second call sends SIGKILL at once.
    void end(int signal, std::chrono::milliseconds grace);
    void input(std::string bytes);
    // Whether the rank has started and still runs.
    bool running(int rank) const;
    // 0: the rank does not run.
    pid_t process(int rank) const;
    std::vector<int> all_running() const;
    // Seconds since the rank's last output.
    double silent(int rank) const;
    // The last line that it has written, without its end; of a long line the first part.
    const std::string& last_line(int rank) const { return ranks_.at(rank).line; }

  private:
    struct Source {
        std::unique_ptr<Poll> poll;  // null at the end of the stream
        LineBuffer lines;
        std::unique_ptr<Timer> rest;  // runs while lines holds an incomplete line
        std::size_t seen = 0;         // bytes of that line at the last look
        std::uint64_t unbroken = 0;   // bytes since all text was passed on
        bool in_pieces = false;       // its line was passed on in parts, for lack of memory
    };
    struct Rank {
        pid_t pid = -1;    // -1: ended
        pid_t group = -1;  // the group of the rank and of the processes that it started and that
                           // have not left it; -1: not started
        std::chrono::steady_clock::time_point begin, wrote;
        Source output, error;
        Tail tail{20};
        std::string line;  // the last one
        LibraryErrors library;
    };

    // The agent passes incomplete lines (a prompt, a progress bar) on after kRest, but not at the
    // end of a block of stdio: the line goes on in the next block. Text of kBlock or more counts as
    // a long line: it is passed on when less than another kBlock came in kLongRest. All incomplete
    // lines of a node together hold at most kPending, and less than kBlock of each stream. A line
    // that needs more is passed on in parts. The parts are small, and the agent reads the next one
    // while the last one is on its way.
    static constexpr std::chrono::milliseconds kRest{200}, kLongRest{1000};
    static constexpr std::size_t kBlock = 64 << 10, kPending = 16 << 20, kPiece = 1 << 20;
    static constexpr std::size_t kStdioBlock = 4096;  // what stdio writes to a pipe at a time

    void hold_output(bool hold) override;
    void output_idle() override { events_.output_idle(); }

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
    Channel& root_;
    AgentEvents& events_;
    RankOutput output_;
    std::map<int, Rank> ranks_;
    std::unique_ptr<InputPipe> input_;
    MemoryKills memory_kills_;
    Timer grace_, linger_;
    bool held_ = false, asked_ = false, started_ = false, lingered_ = false, done_ = false;
};

}  // namespace batchai::launcher
