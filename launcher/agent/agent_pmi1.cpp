// SPDX-License-Identifier: Apache-2.0
//
// Agent, between its PMI-1 server and the root. What ranks do there means what it means in PMIx;
// only the fences are apart.
//
// A job of one rank has no such server: programs of MPICH start by themselves then, and a script
// may start as many as it likes, while a connection serves one.
#include "launcher/agent/agent.hpp"

namespace batchai::launcher {

void Agent::start_pmi1() {
    pmi1_ = std::make_unique<pmi1::Server>(
        loop_,
        pmi1::Server::Callbacks{
            [this](int rank) { set_pmix_state(rank, RankEnd::Pmix::joined); },
            [this](int rank) { set_pmix_state(rank, RankEnd::Pmix::left); },
            [this](Fence contribution) { branch_->give(std::move(contribution)); },
            [this](int rank, int code, std::string message) {
                aborted(static_cast<std::uint32_t>(rank), code, std::move(message));
            }},
        pmi1::Job{job_.nspace, job_.map.size(), process_mapping(job_.map)});
}

// The rank's end, to be closed when it runs; PMI_RANK and PMI_SIZE it has already.
sys::Result<sys::UniqueFd> Agent::offer_pmi1(SpawnRequest& request, int rank) {
    if (!pmi1_) return sys::UniqueFd();
    auto end = pmi1_->connect(rank);
    if (!end) return end;
    request.inherited = end->get();
    request.environment["PMI_FD"] = std::to_string(end->get());
    return end;
}

}  // namespace batchai::launcher
