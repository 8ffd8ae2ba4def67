// SPDX-License-Identifier: Apache-2.0
//
// PmixHost: PMIx and PMI-1 on this node. Their servers serve the node's ranks. Requests that
// concern other nodes go to the root or into the tree of fences. Every request gets a number, or a
// place in a queue, under which the library's answer function is kept. PMI-1 requests have the same
// effects as in PMIx, except that their fences are a separate series.
//
// PmixHost also knows which ranks use PMIx or PMI-1. When one of them ends, it releases the ranks
// that wait for it. If a second live process uses PMIx as one rank, it ends the job. Only the event
// loop's thread calls it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/agent/branch.hpp"
#include "launcher/agent/events.hpp"
#include "launcher/agent/node_job.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/pmi1/server.hpp"
#include "launcher/pmix/server.hpp"
#include "launcher/pmix/workarounds.hpp"

namespace batchai::launcher {

class PmixHost final : private pmix::Host,
                       private pmi1::Host,
                       private pmix::LastWords::Host,
                       private pmix::StandIns::Host {
  public:
    // The agent's objects. They outlive this object.
    struct Node {
        const Bootstrap& bootstrap;
        const NodeJob& job;
        Channel& root;
        Branch& branch;
        Ranks& ranks;
        AgentEvents& events;
    };
    PmixHost(Loop& loop, Node node);

    // Starts the PMIx server.
    sys::Result<void> serve(const pmix::ServerOptions& options);
    bool serves() const { return server_ != nullptr; }
    // Registers the launch's first job with the PMIx server, and starts the PMI-1 server. Call it
    // before the ranks start.
    sys::Result<void> register_job();
    // Registers a further job.
    sys::Result<void> register_job(const Job& job);
    void remove_last_job(const Job& job) { server_->remove_last_job(job.nspace); }
    // Adds the variables by which the rank finds the PMIx server.
    sys::Result<void> offer_pmix(SpawnRequest& request, int rank) const;
    // Adds those of the PMI-1 server. Returns the rank's end of the socket pair; the caller closes
    // it when the rank runs. PMI_RANK and PMI_SIZE are set elsewhere.
    sys::Result<sys::UniqueFd> offer_pmi1(SpawnRequest& request, int rank);

    // Handles a message from the root; ignores messages of other kinds.
    void receive(Kind kind, Reader& reader);
    void on_fence_done(FenceDone done);  // done: the complete result

    // Absent: the rank has not joined so far. PMI-1 counts too.
    std::optional<RankEnd::Pmix> state(int rank) const;

    // The rank's process has ended. Reports rank_judged() when its last messages were read. Once
    // the root knows the end, release the ranks that wait for it.
    void rank_ended(RankEnd end) { last_words_.add(std::move(end)); }
    bool all_judged() const { return last_words_.empty(); }
    void release_waiting_for(const RankEnd& end, bool job_ends);
    // A child of the agent has ended; it may be a stand-in.
    void reap(pid_t pid, int status) { stand_ins_.reap(pid, status != 0); }
    void stop_stand_ins() { stand_ins_.stop(); }

  private:
    // The ranks' requests (pmix/host.hpp). Of PMI-1: joined, finalized, barrier, aborted,
    // spawn_refused (pmi1/server.hpp).
    void fence(Fence contribution, pmix::WhenJoined answer) override;
    void modex(std::uint32_t rank, pmix::ModexAnswer answer) override;
    void publish(std::vector<Item> items, pmix::OpAnswer answer) override;
    void lookup(std::vector<std::string> keys, bool wait, pmix::LookupAnswer answer) override;
    void unpublish(std::uint32_t owner, std::vector<std::string> keys,
                   pmix::OpAnswer answer) override;
    void aborted(int rank, int code, std::string message) override;
    void spawn(SpawnJob order, pmix::SpawnAnswer answer) override;
    void spawn_refused(int rank, std::string why) override { refused_[rank] = std::move(why); }
    void connected(int rank) override;
    void joined(int rank) override { set_state(rank, RankEnd::Pmix::joined); }
    void finalized(int rank) override { set_state(rank, RankEnd::Pmix::left); }
    void barrier(Fence contribution) override { node_.branch.give(std::move(contribution)); }
    void group_asked(const std::string& name, const RankSet& ranks) override;
    void notify(Notification event) override { node_.root.send(event); }
    void log(int rank, Stream stream, std::string text) override;
    void signal(Signal signal) override { node_.root.send(signal); }
    // Ranks that have ended (pmix/workarounds.hpp).
    std::vector<std::uint64_t> unheard() const override { return pmix::unheard_connections(); }
    void hear() override { box_.open(); }
    void judge(RankEnd end) override;
    bool any_joined(int rank) const override;
    pid_t start_stand_in(int rank) override;
    void kill_stand_in(pid_t pid) override;
    void forget(int rank) override { server_->forget(rank); }

    void on_modex_request(ModexRequest request);
    void on_modex_reply(ModexReply reply);
    void on_store_reply(const StoreReply& reply);
    void on_spawn_reply(SpawnReply reply);
    void send_modex_reply(const ModexRequest& request, int status, std::string data);
    void fail_modex_of(int rank);
    void set_state(int rank, RankEnd::Pmix state);
    void refuse_second_process(int rank);
    // Adds what the rank has asked for in vain.
    void explain(RankEnd& end) const;

    Loop& loop_;
    Node node_;
    pmix::Box box_;
    std::unique_ptr<pmix::Server> server_;
    // Null before the ranks start. The only rank of a job takes part in no fence: each MPICH
    // program that it starts gets a PMI-1 session of its own, of solo_pmi1_.
    std::unique_ptr<pmi1::Server> pmi1_;
    std::unique_ptr<pmi1::SoloServer> solo_pmi1_;
    pmix::StandIns stand_ins_;
    pmix::LastWords last_words_;
    pmix::Groups groups_;
    std::map<int, RankEnd::Pmix> states_;
    std::set<int> clients_;               // ranks that the library has known as clients
    std::map<int, std::string> refused_;  // ranks that have asked for new processes in vain: why

    std::uint64_t next_id_ = 0;
    std::map<FenceId, pmix::WhenJoined> fences_;
    std::map<std::uint64_t, pmix::ModexAnswer> modexes_;  // requests that this node has made
    std::map<std::pair<int, std::uint64_t>, std::uint32_t>
        asked_;  // requests to this node: (origin, id) -> rank
    std::map<std::uint64_t, pmix::OpAnswer> stores_;
    std::map<std::uint64_t, pmix::LookupAnswer> lookups_;
    struct Spawning {
        int parent;
        pmix::SpawnAnswer answer;
    };
    std::map<std::uint64_t, Spawning> spawns_;
};

}  // namespace batchai::launcher
