// SPDX-License-Identifier: Apache-2.0
//
// Server: the PMI-1 server of one node, for programs that do not use PMIx: MPICH, Intel MPI. Each
// rank inherits one end of a socket pair; the agent's loop reads the other end. A barrier of all
// ranks is a fence through the root and carries the keys that the ranks have put.
//
// No call blocks: the server stops reading from a rank that does not read its answers.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/listener.hpp"
#include "launcher/common/map.hpp"
#include "launcher/common/message_pmix.hpp"
#include "launcher/pmi1/protocol.hpp"
#include "sys/result.hpp"

namespace batchai::launcher::pmi1 {

// The ranks' requests to the agent.
class Host {
  public:
    virtual void joined(int rank) = 0;             // init
    virtual void finalized(int rank) = 0;          // finalize
    virtual void barrier(Fence contribution) = 0;  // this node's
    virtual void aborted(int rank, int code, std::string message) = 0;
    // The rank has asked for new processes, and got an error. why: goes on after "new processes".
    virtual void spawn_refused(int rank, std::string why) = 0;

  protected:
    ~Host() = default;
};

class Server {
  public:
    Server(Loop& loop, Host& host, Job job) : loop_(loop), host_(host), job_(std::move(job)) {}

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
    Host& host_;
    Job job_;
    Store store_;
    std::map<int, Rank> ranks_;
    bool fence_under_way_ = false;
};

// PMI-1 for the only rank of a job. The rank's script may start several MPI programs, in turn or
// side by side. Each program is a job of one rank, with a connection of its own to PMI_PORT. MPICH
// 4 also starts without a server. MPICH 5 does not, because it sees that PMIx is offered.
//
// The launcher ignores what such a program reports about its end, and judges the rank by its exit
// code.
class SoloServer {
  public:
    // host: only spawn_refused() is called.
    static sys::Result<std::unique_ptr<SoloServer>> listen(Loop& loop, Host& host,
                                                           std::string name);

    // The value of PMI_PORT. PMI_ID is 0.
    std::string address() const { return "127.0.0.1:" + std::to_string(port_->number()); }

  private:
    // The program is the only member of its barriers, so each barrier ends at once.
    struct Program final : Host {
        Program(SoloServer& owner, sys::UniqueFd connection);
        void joined(int) override {}
        void finalized(int) override {}
        void barrier(Fence fence) override {
            server.on_fence_done({fence.id, fence.status, 0, std::move(fence.data)});
        }
        void aborted(int, int, std::string) override {}
        void spawn_refused(int rank, std::string why) override {
            host.spawn_refused(rank, std::move(why));
        }

        Host& host;
        Server server;
    };
    SoloServer(Loop& loop, Host& host, std::string name)
        : loop_(loop), host_(host), name_(std::move(name)) {}
    void serve(sys::UniqueFd connection);

    // Programs at one time; below an agent's usual limit of 1024 descriptors.
    static constexpr std::size_t kMostPrograms = 512;

    Loop& loop_;
    Host& host_;
    const std::string name_;
    std::list<Program> programs_;  // programs that have left stay until the next one connects
    std::unique_ptr<OwnPort> port_;
};

}  // namespace batchai::launcher::pmi1
