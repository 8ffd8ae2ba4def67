// SPDX-License-Identifier: Apache-2.0
//
// Server: the PMI-1 server of one node, for programs that do not use PMIx: MPICH, Intel MPI. Each
// rank inherits one end of a socket pair; the agent's loop reads the other end. A barrier of all
// ranks is a fence through the root and carries the keys that the ranks have put.
//
// No call blocks: the server stops reading from a rank that does not read its answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/map.hpp"
#include "launcher/common/message_pmix.hpp"
#include "launcher/pmi1/protocol.hpp"
#include "sys/result.hpp"

namespace batchai::launcher::pmi1 {

class Server {
  public:
    struct Callbacks {
        std::function<void(int rank)> on_joined, on_left;  // init, finalize
        std::function<void(Fence)> on_barrier;             // this node's contribution to a barrier
        std::function<void(int rank, int code, std::string message)> on_aborted;
        std::function<void(int rank)> on_spawn_refused;  // the rank has asked for new processes
    };
    Server(Loop& loop, Callbacks callbacks, Job job)
        : loop_(loop), callbacks_(std::move(callbacks)), job_(std::move(job)) {}

    // Returns the end that the rank inherits as PMI_FD. Call it for every rank of the node before
    // the loop runs.
    sys::Result<sys::UniqueFd> connect(int rank);
    // Serves a connection that a rank has opened itself.
    void adopt(int rank, sys::UniqueFd connection);
    // Whether any rank still holds its end open.
    bool connected() const;

    // A rank has ended: reads the rank's last messages.
    void hear_out(int rank);
    // The rank takes part in nothing any more. A barrier that lacks the rank fails.
    void forget(int rank);

    void on_fence_done(const FenceDone& done);

  private:
    struct Rank {
        std::unique_ptr<Poll> poll;  // null: disconnected
        std::string input;
        Session session;
        bool ended = false;
    };

    void receive(int number, Rank& rank);
    void obey(int number, Rank& rank, std::string_view line);
    void send(Rank& rank, const std::string& line);
    void check_barrier();

    Loop& loop_;
    Callbacks callbacks_;
    Job job_;
    Store store_;
    std::map<int, Rank> ranks_;
    bool fence_under_way_ = false;
};

}  // namespace batchai::launcher::pmi1
