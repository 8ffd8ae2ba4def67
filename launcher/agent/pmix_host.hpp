// SPDX-License-Identifier: Apache-2.0
//
// PmixHost: PMIx on this node. The PMIx library serves the node's ranks. Requests that concern
// other nodes go to the root or into the tree of fences. Every request gets a number, or a place in
// a queue, under which the library's answer function is kept.
//
// PmixHost also knows which ranks use PMIx. When one of them ends, it releases the ranks that wait
// for it. If a second live process uses PMIx as one rank, it ends the job. Only the event loop's
// thread calls it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/agent/branch.hpp"
#include "launcher/agent/groups.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/agent/stand_ins.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/env/env.hpp"
#include "launcher/pmix/server.hpp"

namespace batchai::launcher {

class PmixHost final : private pmix::Host {
  public:
    // The agent's objects. They outlive this object.
    struct Node {
        const Bootstrap& bootstrap;
        const env::Environment& environment;  // the agent's; stand-ins get it
        const Launch& job;
        Channel& root;
        Branch& branch;
        Ranks& ranks;
        std::function<void(const AgentError&)> fail;  // ends the job
    };
    PmixHost(Loop& loop, Node node);

    sys::Result<void> serve(const pmix::ServerOptions& options);
    bool serves() const { return server_ != nullptr; }
    sys::Result<void> register_job(const pmix::JobInfo& info) {
        return server_->register_job(info);
    }
    sys::Result<std::map<std::string, std::string>> environment(int rank) const {
        return server_->environment(rank);
    }
    // Handles the library's requests at once.
    void hear() { box_.open(); }

    // Handles a message from the root; ignores messages of other kinds.
    void receive(Kind kind, Reader& reader);
    void on_fence_done(FenceDone done);  // done: the complete result

    // Notes that the rank has begun to use PMIx, or has left it. PMI-1 counts too.
    void joined(int rank) { set_state(rank, RankEnd::Pmix::joined); }
    void left(int rank) { set_state(rank, RankEnd::Pmix::left); }
    // Absent: the rank has not joined so far.
    std::optional<RankEnd::Pmix> state(int rank) const;
    void report_abort(int rank, int code, std::string message);
    void refuse_spawn(int rank);

    // The rank has ended. Call judge() first: it adds the rank's PMIx state to the end. Once the
    // root knows the end, release the ranks that wait for it.
    void judge(RankEnd& end);
    void release_waiting_for(const RankEnd& end, bool job_ends);
    // A child of the agent has ended; it may be a stand-in.
    void reap(pid_t pid, int status) { stand_ins_.reap(pid, status != 0); }
    void stop_stand_ins() { stand_ins_.stop(); }

  private:
    // The library's requests (pmix/host.hpp).
    void fence(Fence contribution, pmix::WhenJoined answer) override;
    void modex(std::uint32_t rank, pmix::ModexAnswer answer) override;
    void publish(std::vector<Item> items, pmix::OpAnswer answer) override;
    void lookup(std::vector<std::string> keys, bool wait, pmix::LookupAnswer answer) override;
    void unpublish(std::uint32_t owner, std::vector<std::string> keys,
                   pmix::OpAnswer answer) override;
    void aborted(std::uint32_t rank, int code, std::string message) override;
    void spawn_refused(std::uint32_t rank) override;
    void connected(std::uint32_t rank) override;
    void finalized(std::uint32_t rank) override;
    void group_asked(const std::string& name, const std::vector<std::uint32_t>& ranks) override;
    void notify(Notification event) override;
    void log(std::uint32_t rank, Stream stream, std::string text) override;
    void signal(Signal signal) override;

    void on_modex_request(ModexRequest request);
    void on_modex_reply(ModexReply reply);
    void on_store_reply(const StoreReply& reply);
    void send_modex_reply(const ModexRequest& request, int status, std::string data);
    void fail_modex_of(int rank);
    void set_state(int rank, RankEnd::Pmix state);
    bool any_joined() const;
    pid_t start_stand_in(int rank);
    void refuse_second_process(int rank);

    Node node_;
    pmix::Box box_;
    std::unique_ptr<pmix::Server> server_;
    StandIns stand_ins_;
    Groups groups_;
    std::map<int, RankEnd::Pmix> states_;
    std::set<int> clients_;  // ranks that the library has known as clients

    std::uint64_t next_id_ = 0;
    std::map<FenceId, pmix::WhenJoined> fences_;
    std::map<std::uint64_t, pmix::ModexAnswer> modexes_;  // requests that this node has made
    std::map<std::pair<int, std::uint64_t>, std::uint32_t>
        asked_;  // requests to this node: (origin, id) -> rank
    std::map<std::uint64_t, pmix::OpAnswer> stores_;
    std::map<std::uint64_t, pmix::LookupAnswer> lookups_;
};

}  // namespace batchai::launcher
