// SPDX-License-Identifier: Apache-2.0
//
// Processes: a job of forked processes that make real communicators without any launcher, for
// tests. What they tell each other to find each other stands on a board in memory that all of them
// have from their parent. Its ranks count as several nodes on this host, which talk through UCX.
//
// Nothing here waits for ever, and no process outlives its test: each has an alarm and dies with
// its parent, which kills what has not ended in time.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "collectives/comm/comm.hpp"

namespace batchai::coll {

constexpr int kProcessSeconds = 60;

// What the processes share.
struct Board {
    static constexpr int kRanks = 8, kEpochs = 4, kNotes = 8;
    static constexpr int kMeetings = kEpochs;  // the epoch of what is no communicator

    struct Note {
        char key[96];
        std::size_t length;
        char text[8192];
    };
    struct Rank {
        Note notes[kNotes];    // the last ones
        std::atomic<int> met;  // how often it has come to a publish() or fence()
    };
    Rank ranks[kEpochs + 1][kRanks];
    char wrong[kRanks][1024];  // what each rank has found
};

// One epoch of the board: of the ranks' n-th communicators.
class BoardBootstrap final : public Bootstrap {
  public:
    BoardBootstrap(Board& board, int epoch, int rank, int size)
        : ranks_(board.ranks[epoch]), rank_(rank), size_(size) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    sys::Result<void> publish(const std::string& key, const std::string& value) override {
        if (key.size() >= sizeof Board::Note::key || value.size() > sizeof Board::Note::text) {
            return sys::Error{"no room on the board for the " + key};
        }
        Board::Note& note = ranks_[rank_].notes[published_++ % Board::kNotes];
        std::strcpy(note.key, key.c_str());
        note.length = value.size();
        std::memcpy(note.text, value.data(), value.size());
        return fence();
    }
    sys::Result<std::string> lookup(int rank, const std::string& key) const override {
        for (const Board::Note& note : ranks_[rank].notes) {
            if (key == note.key) return std::string(note.text, note.length);
        }
        return sys::Error{"no rank has published its " + key};
    }
    sys::Result<void> leave() override { return fence(); }
    sys::Result<void> fence() {
        const int met = ranks_[rank_].met.load(std::memory_order_relaxed) + 1;
        ranks_[rank_].met.store(met, std::memory_order_release);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        for (int r = 0; r < size_; ++r) {
            while (ranks_[r].met.load(std::memory_order_acquire) < met) {
                if (std::chrono::steady_clock::now() > deadline) {
                    return sys::Error{"rank " + std::to_string(r) + " does not come"};
                }
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        }
        return {};
    }

  private:
    Board::Rank* ranks_;
    int rank_, size_;
    int published_ = 0;
};

class Processes {
  public:
    // nodes: how many ranks each has.
    explicit Processes(const std::vector<int>& nodes) : nodes_(nodes), pids_(size(), 0) {
        void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mapping the processes' board");
        board_ = new (memory) Board{};
    }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    ~Processes() {
        for (const int pid : pids_) {
            if (pid <= 0) continue;
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        ::munmap(board_, sizeof(Board));
    }

    int size() const { return std::accumulate(nodes_.begin(), nodes_.end(), 0); }

    // Calls body in a process for each rank. What it returns is what has gone wrong there: nothing
    // where all is well.
    using Body = std::function<std::string(int rank, Board& board)>;
    std::vector<std::string> run(const Body& body) {
        for (int r = 0; r < size(); ++r) {
            pids_[r] = ::fork();
            if (pids_[r] == 0) be(r, body);
        }
        std::vector<std::string> ends;
        const auto deadline =
            std::chrono::steady_clock::now() + std::chrono::seconds(kProcessSeconds + 5);
        for (int r = 0; r < size(); ++r) ends.push_back(end_of(r, deadline));
        return ends;
    }

  private:
    // In the child. It exits without Boost.Test's report, because it has a copy of Boost.Test's
    // state.
    [[noreturn]] void be(int rank, const Body& body) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
            ::signal(signal, SIG_DFL);
        }
        ::alarm(kProcessSeconds);
        int node = 0;
        for (int first = 0; first + nodes_[node] <= rank; ++node) first += nodes_[node];
        ::setenv("BATCHAI_COLL_NODE", ("n" + std::to_string(node)).c_str(), 1);
        ::setenv("BATCHAI_COLL_TIMEOUT", "20", 1);
        std::string wrong;
        try {
            wrong = body(rank, *board_);
        } catch (const std::exception& error) {
            wrong = error.what();
        }
        const std::size_t length = std::min(wrong.size(), sizeof board_->wrong[rank] - 1);
        std::memcpy(board_->wrong[rank], wrong.data(), length);
#if defined(__SANITIZE_ADDRESS__)
        __lsan_do_leak_check();  // what exit() would do; ends with another code where something
                                 // leaks
#endif
        ::_exit(0);
    }

    std::string end_of(int rank, std::chrono::steady_clock::time_point deadline) {
        if (pids_[rank] < 0) return "fork failed";
        int status = 0;
        while (::waitpid(pids_[rank], &status, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > deadline) return "does not end";
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        pids_[rank] = 0;
        if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
        if (WEXITSTATUS(status) != 0) return "exit " + std::to_string(WEXITSTATUS(status));
        return board_->wrong[rank];
    }

    std::vector<int> nodes_;
    std::vector<int> pids_;  // by rank; 0: it has ended
    Board* board_;
};

// The communicator of all ranks. epoch: counts those that they have had.
inline std::unique_ptr<Communicator> join(Board& board, int epoch, int rank, int size) {
    auto made = Communicator::create(std::make_unique<BoardBootstrap>(board, epoch, rank, size));
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
}

// Waits for all ranks: before one kills itself, so that the others, too, have ended what came
// before.
inline void meet(Board& board, int rank, int size) {
    if (auto met = BoardBootstrap(board, Board::kMeetings, rank, size).fence(); !met) {
        throw std::runtime_error(met.error().message);
    }
}

}  // namespace batchai::coll
