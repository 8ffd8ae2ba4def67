// SPDX-License-Identifier: Apache-2.0
//
// Agent, between its PMIx library and the root: every request gets a number, or a place in a queue,
// and the library's answer function waits under it.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/agent/agent.hpp"
#include "launcher/common/collective.hpp"
#include "launcher/common/paths.hpp"
#include "launcher/pmix/dmodex.hpp"
#include "launcher/pmix/event.hpp"
#include "launcher/pmix/publish.hpp"
#include "sys/clock.hpp"

namespace batchai::launcher {

// The library counts the ranks that are connected. It says the same of one that has left PMIx,
// which a fence does without, and of one that has died.
void Agent::fence(Fence contribution, pmix::WhenJoined answer) {
    bool absent = false, left = false;
    for (const int rank : job_.map.ranks_on(bootstrap_.node)) {
        if (!is_member(contribution.id.procs, rank)) continue;
        const auto state = pmix_states_.find(rank);
        const bool has_left = state != pmix_states_.end() && state->second == RankEnd::Pmix::left;
        left = left || has_left;
        absent = absent || (!has_left && !ranks_->running(rank));
    }
    if (absent && contribution.status == PMIX_SUCCESS) {
        contribution.status = PMIX_ERR_PARTIAL_SUCCESS;
    } else if (left && !absent) {
        contribution.status = PMIX_SUCCESS;
    }
    fences_[branch_->give(std::move(contribution))] = std::move(answer);
}

void Agent::on_fence_done(FenceDone done) {
    if (done.id.purpose == kPmi1) return pmi1_->on_fence_done(done);
    const auto waiting = fences_.find(done.id);
    if (waiting == fences_.end()) return;  // none of our ranks takes part
    const pmix::WhenJoined answer = std::move(waiting->second);
    fences_.erase(waiting);
    answer(done.status, done.serial, std::move(done.data));
}

void Agent::modex(std::uint32_t rank, pmix::ModexAnswer answer) {
    if (rank >= static_cast<std::uint32_t>(job_.map.size())) {
        return pmix::complete(answer, PMIX_ERR_NOT_FOUND, {});
    }
    const std::uint64_t id = next_id_++;
    modexes_[id] = answer;
    root_->send(ModexRequest{bootstrap_.node, id, rank});
}

void Agent::on_modex_reply(ModexReply reply) {
    const auto waiting = modexes_.find(reply.id);
    if (waiting == modexes_.end()) return;
    pmix::complete(waiting->second, reply.status, std::move(reply.data));
    modexes_.erase(waiting);
}

void Agent::on_modex_request(ModexRequest request) {
    if (!ranks_->running(static_cast<int>(request.rank))) {
        return send_modex_reply(request, PMIX_ERR_NOT_FOUND, {});
    }
    asked_[{request.origin, request.id}] = request.rank;
    pmix::request_modex(box_, pmix_->nspace(), request.rank,
                        [this, request](pmix_status_t status, std::string data) {
                            if (asked_.erase({request.origin, request.id}) == 0) return;
                            send_modex_reply(request, status, std::move(data));
                        });
}

void Agent::send_modex_reply(const ModexRequest& request, int status, std::string data) {
    root_->send(ModexReply{request.origin, request.id, status, std::move(data)});
}

// A rank that has ended will not commit any more; the library would wait for it for ever.
void Agent::fail_modex_of(int rank) {
    for (auto it = asked_.begin(); it != asked_.end();) {
        if (it->second != static_cast<std::uint32_t>(rank)) {
            ++it;
            continue;
        }
        root_->send(ModexReply{it->first.first, it->first.second, PMIX_ERR_NOT_FOUND, {}});
        it = asked_.erase(it);
    }
}

void Agent::publish(std::vector<Item> items, pmix::OpAnswer answer) {
    const std::uint64_t id = next_id_++;
    stores_[id] = answer;
    root_->send(Publish{id, std::move(items)});
}

void Agent::lookup(std::vector<std::string> keys, bool wait, pmix::LookupAnswer answer) {
    const std::uint64_t id = next_id_++;
    lookups_[id] = answer;
    root_->send(Lookup{id, std::move(keys), wait});
}

void Agent::unpublish(std::uint32_t owner, std::vector<std::string> keys, pmix::OpAnswer answer) {
    const std::uint64_t id = next_id_++;
    stores_[id] = answer;
    root_->send(Unpublish{id, owner, std::move(keys)});
}

void Agent::on_store_reply(const StoreReply& reply) {
    if (const auto found = stores_.find(reply.id); found != stores_.end()) {
        pmix::complete(found->second, reply.status);
        stores_.erase(found);
    } else if (const auto asked = lookups_.find(reply.id); asked != lookups_.end()) {
        pmix::complete(asked->second, job_.nspace, reply.status, reply.items);
        lookups_.erase(asked);
    }
}

void Agent::aborted(std::uint32_t rank, int code, std::string message) {
    RankEnd end;
    end.rank = static_cast<int>(rank);
    end.how = RankEnd::How::aborted;
    end.code = code;
    end.time = sys::wall_clock();
    if (message != "N/A") end.message = std::move(message);  // Open MPI's way to say nothing
    root_->send(end);
}

void Agent::spawn_refused(std::uint32_t rank) {
    fail(AgentError{fmt::format("batchai-launch: rank {} on {} asked for new processes "
                                "(MPI_Comm_spawn), which batchai-launch does not start. Start all "
                                "ranks at once, with -n",
                                rank, bootstrap_.name),
                    125, false});
}

void Agent::connected(std::uint32_t rank) {
    if (stand_ins_.stands_for(static_cast<int>(rank))) return;
    pmix_clients_.insert(static_cast<int>(rank));
    set_pmix_state(static_cast<int>(rank), RankEnd::Pmix::joined);
}

void Agent::finalized(std::uint32_t rank) {
    set_pmix_state(static_cast<int>(rank), RankEnd::Pmix::left);
}

// When a member has ended, a group can be neither made nor ended. The PMIx library does not notice.
void Agent::group_asked(const std::string& name, const std::vector<std::uint32_t>& ranks) {
    const int missing = groups_.asked(name, ranks, job_.map.ranks_on(bootstrap_.node));
    if (missing >= 0) root_->send(MissingRank{missing});
}

pid_t Agent::start_stand_in(int rank) {
    if (groups_.any_needs(rank)) root_->send(MissingRank{rank});
    SpawnRequest request;
    request.argv = {own_executable(), "--stand-in"};
    request.environment = environment_;
    auto pmix = pmix_->environment(rank);
    if (!pmix) return 0;
    for (auto& [name, value] : *pmix) request.environment[name] = value;
    request.directory = "/";
    Spawned spawned;
    return spawn(request, spawned).code == 0 ? spawned.pid : 0;
}

bool Agent::any_joined() const {
    return std::any_of(pmix_states_.begin(), pmix_states_.end(),
                       [](const auto& s) { return s.second == RankEnd::Pmix::joined; });
}

void Agent::set_pmix_state(int rank, RankEnd::Pmix state) {
    const bool before = any_joined();
    pmix_states_[rank] = state;
    if (any_joined() != before) root_->send(Joined{!before});
}

void Agent::notify(Notification event) {
    root_->send(event);
}

void Agent::log(std::uint32_t rank, Stream stream, std::string text) {
    ranks_->log(static_cast<int>(rank), stream, std::move(text));
}

void Agent::signal(Signal signal) {
    root_->send(signal);
}

void Agent::on_pmix_message(Kind kind, Reader& reader) {
    const auto handle = [&](auto message, auto handler) {
        message.fields(reader);
        if (reader.ok()) (this->*handler)(std::move(message));
    };
    switch (kind) {
        case Kind::fence_done:
            if (FenceDone piece; decode(reader, piece)) branch_->on_done(std::move(piece));
            return;
        case Kind::fence_query:
            if (FenceQuery query; decode(reader, query)) {
                root_->send(FenceAnswer{query.id, branch_->has_given(query.id)});
            }
            return;
        case Kind::modex_request:
            return handle(ModexRequest{}, &Agent::on_modex_request);
        case Kind::modex_reply:
            return handle(ModexReply{}, &Agent::on_modex_reply);
        case Kind::notification:
            if (Notification event; decode(reader, event)) pmix::deliver(job_.nspace, event);
            return;
        case Kind::store_reply:
            return handle(StoreReply{}, &Agent::on_store_reply);
        case Kind::gloo_reply:
            if (GlooReply reply; decode(reader, reply) && rendezvous_) {
                rendezvous_->answer(reply.id, std::move(reply.text));
            }
            return;
        default:
            return;
    }
}

}  // namespace batchai::launcher
