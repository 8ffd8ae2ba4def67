// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/pmix_host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/processes.hpp"
#include "sys/clock.hpp"
#include "sys/paths.hpp"

namespace batchai::launcher {

// ---- servers and their ranks --------------------------------------------------------------------

PmixHost::PmixHost(Loop& loop, Node node)
    : loop_(loop), node_(node), box_(loop), stand_ins_(loop, *this), last_words_(loop, *this) {}

sys::Result<void> PmixHost::serve(const pmix::ServerOptions& options) {
    auto server = pmix::Server::start(options, box_, *this);
    if (!server) return server.error();
    server_ = std::move(*server);
    return {};
}

sys::Result<void> PmixHost::register_job() {
    if (auto registered = register_job(node_.job.jobs().list().front()); !registered) {
        return registered;
    }
    const Launch& job = node_.job.launch();
    if (job.map.size() == 1) {
        auto solo = pmi1::SoloServer::listen(loop_, *this, job.nspace);
        if (!solo) return solo.error();
        solo_pmi1_ = std::move(*solo);
        return {};
    }
    pmi1::Host& self = *this;
    pmi1_ = std::make_unique<pmi1::Server>(
        loop_, self, pmi1::Job{job.nspace, job.map.size(), process_mapping(job.map)});
    return {};
}

sys::Result<void> PmixHost::register_job(const Job& job) {
    return server_->register_job(node_.job.pmix_info(job));
}

sys::Result<void> PmixHost::offer_pmix(SpawnRequest& request, int rank) const {
    auto pmix = server_->environment(rank);
    if (!pmix) return pmix.error();
    // Without the variable a client takes the machine's own name. An mpirun in the rank would give
    // it to processes on other nodes, which would count this node's as theirs.
    const auto host = pmix->find("PMIX_HOSTNAME");
    std::array<char, 256> own{};
    if (host != pmix->end() && ::gethostname(own.data(), own.size() - 1) == 0 &&
        host->second == own.data())
        pmix->erase(host);
    for (auto& [name, value] : *pmix) request.environment[name] = value;
    return {};
}

sys::Result<sys::UniqueFd> PmixHost::offer_pmi1(SpawnRequest& request, int rank) {
    const bool is_further = !node_.job.jobs().is_of_first(rank);
    if (node_.job.launch().role == Role::script || is_further) return sys::UniqueFd();
    if (solo_pmi1_) {
        request.environment["PMI_PORT"] = solo_pmi1_->address();
        request.environment["PMI_ID"] = "0";
        return sys::UniqueFd();
    }
    auto end = pmi1_->connect(rank);
    if (!end) return end;
    request.inherited = end->get();
    request.environment["PMI_FD"] = std::to_string(end->get());
    return end;
}

// ---- requests of ranks --------------------------------------------------------------------------

// The library counts the connected ranks. It reports the same status for a rank that has left PMIx,
// which a fence does not need, and for a rank that has died.
void PmixHost::fence(Fence contribution, pmix::WhenJoined answer) {
    bool absent = false, left = false;
    for (const int rank : node_.job.ranks()) {
        if (!contribution.id.procs.contains(rank)) continue;
        const auto state = states_.find(rank);
        const bool has_left = state != states_.end() && state->second == RankEnd::Pmix::left;
        left = left || has_left;
        absent = absent || (!has_left && !node_.ranks.running(rank));
    }
    if (absent && contribution.status == PMIX_SUCCESS) {
        contribution.status = PMIX_ERR_PARTIAL_SUCCESS;
    } else if (left && !absent) {
        contribution.status = PMIX_SUCCESS;
    }
    fences_[node_.branch.give(std::move(contribution))] = std::move(answer);
}

void PmixHost::on_fence_done(FenceDone done) {
    if (done.id.purpose == kPmi1) return pmi1_->on_fence_done(done);
    const auto waiting = fences_.find(done.id);
    if (waiting == fences_.end()) return;  // no rank of this node takes part
    const pmix::WhenJoined answer = std::move(waiting->second);
    fences_.erase(waiting);
    answer(done.status, done.serial, std::move(done.data));
}

void PmixHost::modex(std::uint32_t rank, pmix::ModexAnswer answer) {
    const std::uint64_t id = next_id_++;
    modexes_[id] = answer;
    node_.root.send(ModexRequest{node_.bootstrap.node, id, rank});
}

void PmixHost::on_modex_reply(ModexReply reply) {
    const auto waiting = modexes_.find(reply.id);
    if (waiting == modexes_.end()) return;
    pmix::complete(waiting->second, reply.status, std::move(reply.data));
    modexes_.erase(waiting);
}

void PmixHost::on_modex_request(ModexRequest request) {
    if (!node_.ranks.running(static_cast<int>(request.rank))) {
        return send_modex_reply(request, PMIX_ERR_NOT_FOUND, {});
    }
    asked_[{request.origin, request.id}] = request.rank;
    server_->request_modex(request.rank, [this, request](pmix_status_t status, std::string data) {
        if (asked_.erase({request.origin, request.id}) == 0) return;
        send_modex_reply(request, status, std::move(data));
    });
}

void PmixHost::send_modex_reply(const ModexRequest& request, int status, std::string data) {
    node_.root.send(ModexReply{request.origin, request.id, status, std::move(data)});
}

// A rank that has ended does not commit any more. The library would wait for it for ever.
void PmixHost::fail_modex_of(int rank) {
    for (auto it = asked_.begin(); it != asked_.end();) {
        if (it->second != static_cast<std::uint32_t>(rank)) {
            ++it;
            continue;
        }
        node_.root.send(ModexReply{it->first.first, it->first.second, PMIX_ERR_NOT_FOUND, {}});
        it = asked_.erase(it);
    }
}

void PmixHost::publish(std::vector<Item> items, pmix::OpAnswer answer) {
    const std::uint64_t id = next_id_++;
    stores_[id] = answer;
    node_.root.send(Publish{id, std::move(items)});
}

void PmixHost::lookup(std::vector<std::string> keys, bool wait, pmix::LookupAnswer answer) {
    const std::uint64_t id = next_id_++;
    lookups_[id] = answer;
    node_.root.send(Lookup{id, std::move(keys), wait});
}

void PmixHost::unpublish(std::uint32_t owner, std::vector<std::string> keys,
                         pmix::OpAnswer answer) {
    const std::uint64_t id = next_id_++;
    stores_[id] = answer;
    node_.root.send(Unpublish{id, owner, std::move(keys)});
}

void PmixHost::on_store_reply(const StoreReply& reply) {
    if (const auto found = stores_.find(reply.id); found != stores_.end()) {
        pmix::complete(found->second, reply.status);
        stores_.erase(found);
    } else if (const auto asked = lookups_.find(reply.id); asked != lookups_.end()) {
        pmix::complete(asked->second, reply.status, reply.items);
        lookups_.erase(asked);
    }
}

void PmixHost::spawn(SpawnJob order, pmix::SpawnAnswer answer) {
    order.id = next_id_++;
    spawns_[order.id] = {order.parent, answer};
    node_.root.send(order);
}

void PmixHost::on_spawn_reply(SpawnReply reply) {
    const auto found = spawns_.find(reply.id);
    if (found == spawns_.end()) return;
    const auto [parent, answer] = found->second;
    spawns_.erase(found);
    using Status = SpawnReply::Status;
    const pmix_status_t status = reply.status == Status::started    ? PMIX_SUCCESS
                                 : reply.status == Status::no_slots ? PMIX_ERR_OUT_OF_RESOURCE
                                                                    : PMIX_ERR_JOB_EXE_NOT_FOUND;
    if (status != PMIX_SUCCESS) spawn_refused(parent, std::move(reply.why));
    pmix::complete(answer, status, reply.nspace);
}

void PmixHost::aborted(int rank, int code, std::string message) {
    RankEnd end;
    end.rank = rank;
    end.how = RankEnd::How::aborted;
    end.code = code;
    end.time = sys::wall_clock();
    if (message != "N/A") end.message = std::move(message);  // Open MPI's "no message"
    explain(end);
    node_.root.send(end);
}

void PmixHost::explain(RankEnd& end) const {
    if (const auto found = refused_.find(end.rank); found != refused_.end())
        end.library_errors.push_back("the rank has asked for new processes (MPI_Comm_spawn) " +
                                     found->second);
}

void PmixHost::connected(int rank) {
    if (stand_ins_.stands_for(rank)) return;
    clients_.insert(rank);
    joined(rank);
    refuse_second_process(rank);
}

// The PMIx library counts all processes of a rank as one. So two live processes would be paired
// with different processes of other ranks, or fences would never end. The library ignores a refusal
// here. One process may have several connections, because two of its libraries may have a libpmix
// each. Programs of a job's only rank may run side by side, as with PMI-1.
void PmixHost::refuse_second_process(int rank) {
    if (node_.job.jobs().of(rank).map.size() == 1) return;
    const auto connections = pmix::connections_of(static_cast<std::uint32_t>(rank));
    if (connections.size() < 2) return;
    std::set<pid_t> processes;
    for (const pid_t opener : openers_of(connections)) {
        if (opener > 0 && !is_ending(opener)) processes.insert(opener);
    }
    if (processes.size() < 2) return;
    node_.events.fail(AgentError{
        fmt::format(
            "batchai-launch: rank {} on {} has several processes ({}): a rank is one process "
            "at a time. Start as many ranks as processes (-n, --ranks-per-node), or run "
            "the programs of a rank one after the other",
            node_.job.jobs().map().name(rank), node_.bootstrap.name, fmt::join(processes, ", ")),
        kOwnFailure, false});
}

// The PMIx library does not notice that a member has ended, and would wait for it for ever.
void PmixHost::group_asked(const std::string& name, const RankSet& ranks) {
    const int missing = groups_.asked(name, ranks, node_.job.ranks());
    if (missing >= 0) node_.root.send(MissingRank{missing});
}

// ---- ranks that have ended ----------------------------------------------------------------------

pid_t PmixHost::start_stand_in(int rank) {
    if (groups_.any_needs(rank)) node_.root.send(MissingRank{rank});
    SpawnRequest request;
    request.argv = {sys::own_executable(), "--stand-in"};
    request.environment = node_.job.environment();
    if (!offer_pmix(request, rank)) return 0;
    request.directory = "/";
    Spawned spawned;
    return launcher::spawn(request, spawned).code == 0 ? spawned.pid : 0;
}

void PmixHost::kill_stand_in(pid_t pid) {
    ::kill(pid, SIGKILL);
}

std::optional<RankEnd::Pmix> PmixHost::state(int rank) const {
    const auto found = states_.find(rank);
    if (found == states_.end()) return std::nullopt;
    return found->second;
}

void PmixHost::judge(RankEnd end) {
    if (pmi1_) pmi1_->hear_out(end.rank);
    fail_modex_of(end.rank);
    if (const auto reached = state(end.rank)) {
        end.pmix = *reached;
        // It can no longer leave PMIx.
        if (*reached == RankEnd::Pmix::joined) set_state(end.rank, RankEnd::Pmix::never_joined);
    }
    explain(end);
    node_.events.rank_judged(std::move(end));
}

void PmixHost::release_waiting_for(const RankEnd& end, bool job_ends) {
    groups_.end(end.rank);
    if (end.pmix == RankEnd::Pmix::left) {
        node_.branch.leave({end.rank});
        if (!job_ends && clients_.contains(end.rank)) stand_ins_.add(end.rank);
    } else if (groups_.any_needs(end.rank)) {
        node_.root.send(MissingRank{end.rank});
    }
    if (pmi1_) pmi1_->forget(end.rank);
}

bool PmixHost::any_joined(int rank) const {
    const Job& job = node_.job.jobs().of(rank);
    const auto first = states_.lower_bound(job.first);
    const auto end = states_.lower_bound(job.first + job.map.size());
    return std::any_of(first, end, [](const auto& s) { return s.second == RankEnd::Pmix::joined; });
}

void PmixHost::set_state(int rank, RankEnd::Pmix state) {
    const bool before = any_joined(rank);
    states_[rank] = state;
    if (any_joined(rank) != before)
        node_.root.send(Joined{node_.job.jobs().of(rank).first, !before});
}

void PmixHost::log(int rank, Stream stream, std::string text) {
    node_.ranks.log(rank, stream, std::move(text));
}

void PmixHost::receive(Kind kind, Reader& reader) {
    switch (kind) {
        case Kind::fence_done:
            if (FenceDone piece; decode(reader, piece)) node_.branch.on_done(std::move(piece));
            return;
        case Kind::fence_query:
            if (FenceQuery query; decode(reader, query)) {
                node_.root.send(FenceAnswer{query.id, node_.branch.has_given(query.id)});
            }
            return;
        case Kind::modex_request:
            if (ModexRequest request; decode(reader, request)) on_modex_request(request);
            return;
        case Kind::modex_reply:
            if (ModexReply reply; decode(reader, reply)) on_modex_reply(std::move(reply));
            return;
        case Kind::notification:
            if (Notification event; decode(reader, event)) server_->deliver(event);
            return;
        case Kind::spawn_reply:
            if (SpawnReply reply; decode(reader, reply)) on_spawn_reply(std::move(reply));
            return;
        case Kind::job_ended:
            if (JobEnded ended; decode(reader, ended))
                server_->deliver_end(node_.job.jobs().of(ended.first));
            return;
        case Kind::store_reply:
            if (StoreReply reply; decode(reader, reply)) on_store_reply(reply);
            return;
        default:
            return;
    }
}

}  // namespace batchai::launcher
